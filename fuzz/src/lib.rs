//! The checks and the oracle of the candidate's property tests, for the fuzz targets to share.

#[path = "../../candidate/tests/properties/check/mod.rs"]
pub mod check;
#[path = "../../candidate/tests/properties/oracle/mod.rs"]
pub mod oracle;

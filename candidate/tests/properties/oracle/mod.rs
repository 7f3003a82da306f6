//! The parsers once more, written from the contract alone: slow, plain, and sharing no code with the server beyond the names
//! of results. The fuzz targets include this folder too.

pub mod address;
pub mod chunked;
pub mod head;
pub mod json;
pub mod route;
pub mod token;

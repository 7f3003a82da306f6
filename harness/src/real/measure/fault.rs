//! Why a measurement gave no sample.

/// Why there is no sample.
#[derive(Debug)]
pub enum Fault {
    /// The candidate's: wrong bytes, lost answers, an exit, a port never listened on, no end.
    Invalid(String),
    /// The count cannot be believed.
    Unsound(String),
    /// The stop flag was set.
    Interrupted,
    /// Ours.
    Own(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Fault {
    fn from(error: E) -> Fault {
        Fault::Own(error.into())
    }
}

//! Which engine serves: what was wished for, and what the kernel allows.

use std::io;

use super::uring;
use crate::choices::EngineChoice;

/// What `--engine` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The preferred one; epoll if that is refused.
    Auto,
    /// This one or none.
    Only(EngineChoice),
}

/// The engine that serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which it is.
    pub engine: EngineChoice,
    /// Why it is not the preferred one.
    pub note: Option<String>,
}

impl EngineChoice {
    /// As the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Epoll => "epoll",
            Self::Uring => "uring",
        }
    }
}

/// Fulfils a wish if the kernel does. `preferred` is what `auto` tries first.
pub fn choose(wish: Wish, preferred: EngineChoice) -> Result<Choice, String> {
    decide(wish, preferred, uring::refusal)
}

fn decide(wish: Wish, preferred: EngineChoice, refusal: impl Fn() -> Option<io::Error>) -> Result<Choice, String> {
    let wanted = match wish {
        Wish::Auto => preferred,
        Wish::Only(engine) => engine,
    };
    let refused = match wanted {
        EngineChoice::Epoll => None,
        EngineChoice::Uring => refusal(),
    };
    match refused {
        None => Ok(Choice { engine: wanted, note: None }),
        Some(error) if wish == Wish::Auto => {
            let note = format!("io_uring is refused ({error}), so epoll serves");
            Ok(Choice { engine: EngineChoice::Epoll, note: Some(note) })
        }
        Some(error) => Err(format!(
            "io_uring is refused: {error}. It takes Linux 6.1 or later and a sandbox that allows it; \
             --engine epoll serves everywhere"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EngineChoice::{Epoll, Uring};

    fn refused() -> Option<io::Error> {
        Some(io::ErrorKind::PermissionDenied.into())
    }

    #[test]
    fn auto_takes_the_preferred_engine_if_the_kernel_allows_it() {
        assert_eq!(decide(Wish::Auto, Uring, || None), Ok(Choice { engine: Uring, note: None }));
        assert_eq!(decide(Wish::Auto, Epoll, || panic!("nobody needs to know")).unwrap().engine, Epoll);
        let second = decide(Wish::Auto, Uring, refused).unwrap();
        assert_eq!(second.engine, Epoll);
        assert!(second.note.unwrap().contains("permission denied"));
    }

    #[test]
    fn an_engine_asked_for_by_name_is_never_replaced() {
        assert_eq!(decide(Wish::Only(Uring), Epoll, || None).unwrap().engine, Uring);
        assert_eq!(decide(Wish::Only(Epoll), Uring, refused).unwrap().engine, Epoll);
        assert!(decide(Wish::Only(Uring), Uring, refused).unwrap_err().contains("--engine epoll"));
    }
}

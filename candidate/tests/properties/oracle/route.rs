//! Targets and routes (4.1 to 4.3), by splitting strings.

/// A route with its parameters as they stand in the target.
#[derive(Debug, PartialEq)]
pub enum Route {
    Auth,
    User,
    Subnet(String, String),
    Login(String),
    Unknown,
}

/// The route of a target; `None` if that is no target.
pub fn route(target: &[u8]) -> Option<Route> {
    if target.iter().any(|byte| *byte < 0x21 || *byte > 0x7e || *byte == b'#') {
        return None;
    }
    let target = std::str::from_utf8(target).ok()?;
    let lower = target.to_ascii_lowercase();
    let path = if target.starts_with('/') {
        target
    } else if lower.starts_with("http://") || lower.starts_with("https://") {
        let rest = target.split_once("//")?.1;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        if end == 0 {
            return None;
        }
        &rest[end..]
    } else {
        return None;
    };
    let path = path.split('?').next()?;
    let mut pieces = path.split('%');
    pieces.next();
    for piece in pieces {
        let digits: Vec<char> = piece.chars().take(2).collect();
        if digits.len() < 2 || !digits.iter().all(char::is_ascii_hexdigit) {
            return None;
        }
    }
    let segments: Vec<&str> = path.split('/').collect();
    Some(match segments[..] {
        ["", "auth"] => Route::Auth,
        ["", "user"] => Route::User,
        ["", "blacklist", "user", login] if !login.is_empty() => Route::Login(login.to_owned()),
        ["", "blacklist", "subnet", ip, mask] if !ip.is_empty() && !mask.is_empty() => {
            Route::Subnet(ip.to_owned(), mask.to_owned())
        }
        _ => Route::Unknown,
    })
}

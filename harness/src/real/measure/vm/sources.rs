//! The machine's own package sources, read so that a private configuration can be derived from them: the same mirrors,
//! keys and proxies, with the backports of the same release added. Both of apt's formats. Pure text in, text out.

/// One enabled source of binary packages, as apt's one-line format has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What stands in the brackets, without them: keys and trust; empty when there is none.
    pub options: String,
    /// Where the packages are.
    pub uri: String,
    /// The suite, such as a release's code name.
    pub suite: String,
    /// The components.
    pub components: String,
}

impl Source {
    /// The source as a line of `sources.list`.
    pub fn line(&self) -> String {
        let options = if self.options.is_empty() { String::new() } else { format!("[{}] ", self.options) };
        format!("deb {options}{} {} {}\n", self.uri, self.suite, self.components)
    }
}

/// The text of a private `sources.list`: every source of release `codename` (main only), and its backports on the mirror
/// that has the release itself. `None` when no source has that release.
pub fn private_list(sources: &[Source], codename: &str) -> Option<String> {
    let backports = format!("{codename}-backports");
    let mut wanted: Vec<Source> = Vec::new();
    let mut add = |source: &Source, suite: &str| {
        let components = if suite.ends_with('/') { String::new() } else { "main".to_owned() };
        let source = Source { suite: suite.to_owned(), components, ..source.clone() };
        if !wanted.contains(&source) {
            wanted.push(source);
        }
    };
    let release = sources.iter().find(|s| s.suite == codename)?;
    for source in sources.iter().filter(|s| s.suite == codename || s.suite.starts_with(&format!("{codename}-"))) {
        add(source, &source.suite);
    }
    add(release, &backports);
    Some(wanted.iter().map(Source::line).collect())
}

/// The enabled binary sources of a `.list` file.
pub fn one_line(text: &str) -> Vec<Source> {
    text.lines()
        .filter_map(|line| {
            let line = line.split('#').next().unwrap_or("").trim();
            let rest = line.strip_prefix("deb")?.strip_prefix([' ', '\t'])?.trim();
            let (options, rest) = match rest.strip_prefix('[') {
                Some(inner) => inner.split_once(']')?,
                None => ("", rest),
            };
            let mut words = rest.split_whitespace();
            let (uri, suite) = (words.next()?.to_owned(), words.next()?.to_owned());
            Some(Source {
                options: options.trim().to_owned(),
                uri,
                suite,
                components: words.collect::<Vec<_>>().join(" "),
            })
        })
        .collect()
}

/// The enabled binary sources of a deb822 `.sources` file.
pub fn deb822(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    for stanza in stanzas(text) {
        let field =
            |name: &str| stanza.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map_or("", |(_, v)| v.as_str());
        let words = |name: &str| field(name).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let off = matches!(field("Enabled").trim().to_ascii_lowercase().as_str(), "no" | "false" | "0" | "off");
        if off || !words("Types").iter().any(|t| t == "deb") {
            continue;
        }
        let mut options = Vec::new();
        // A key written into the file itself (it has spaces) cannot be said in one line; the system's keyring then serves.
        if let [key] = &words("Signed-By")[..] {
            options.push(format!("signed-by={key}"));
        }
        if let [trusted] = &words("Trusted")[..] {
            options.push(format!("trusted={trusted}"));
        }
        for uri in words("URIs") {
            for suite in words("Suites") {
                let (options, components) = (options.join(" "), words("Components").join(" "));
                sources.push(Source { options, uri: uri.clone(), suite, components });
            }
        }
    }
    sources
}

/// Paragraphs of `Name: value` fields; a line that begins with a space goes on with the field above it.
fn stanzas(text: &str) -> Vec<Vec<(String, String)>> {
    let mut all = vec![Vec::<(String, String)>::new()];
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let current = all.last_mut().expect("never empty");
        if line.trim().is_empty() {
            all.push(Vec::new());
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = current.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            current.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "/usr/share/keyrings/archive.gpg";

    fn source(options: &str, uri: &str, suite: &str, components: &str) -> Source {
        Source { options: options.into(), uri: uri.into(), suite: suite.into(), components: components.into() }
    }

    #[test]
    fn the_one_line_format_is_read_with_its_options_and_without_its_comments() {
        let text = format!(
            "# deb http://a.example/debian old main\ndeb http://a.example/debian bookworm main contrib # main\n\
             deb-src http://a.example/debian bookworm main\ndeb [arch=amd64 signed-by={KEY}]  http://b.example/sec bookworm-security main\n"
        );
        assert_eq!(
            one_line(&text),
            [
                source("", "http://a.example/debian", "bookworm", "main contrib"),
                source(&format!("arch=amd64 signed-by={KEY}"), "http://b.example/sec", "bookworm-security", "main"),
            ]
        );
    }

    #[test]
    fn the_deb822_format_is_read_stanza_by_stanza_and_disabled_ones_are_left_out() {
        let text = format!(
            "Types: deb deb-src\n# a comment\nURIs: http://a.example/debian\nSuites: bookworm\n bookworm-updates\nComponents: main\nSigned-By: {KEY}\n\n\
             Types: deb\nEnabled: no\nURIs: http://c.example\nSuites: x\nComponents: main\n\nTypes: deb-src\nURIs: http://d.example\nSuites: y\n"
        );
        let signed = format!("signed-by={KEY}");
        assert_eq!(
            deb822(&text),
            [
                source(&signed, "http://a.example/debian", "bookworm", "main"),
                source(&signed, "http://a.example/debian", "bookworm-updates", "main"),
            ]
        );
    }

    #[test]
    fn a_key_inside_the_file_is_left_to_the_system_s_keyring() {
        let text = "Types: deb\nURIs: http://a.example\nSuites: s\nComponents: main\nSigned-By:\n -----BEGIN KEY-----\n .\n abc\n -----END KEY-----\n";
        assert_eq!(deb822(text), [source("", "http://a.example", "s", "main")]);
    }

    #[test]
    fn the_private_list_has_the_release_its_updates_and_its_backports_and_nothing_else() {
        let sources = [
            source("", "http://a.example/debian", "bookworm", "main contrib"),
            source("", "http://b.example/sec", "bookworm-security", "main"),
            source("", "http://vendor.example", "stable", "main"),
        ];
        assert_eq!(
            private_list(&sources, "bookworm").unwrap(),
            "deb http://a.example/debian bookworm main\ndeb http://b.example/sec bookworm-security main\n\
             deb http://a.example/debian bookworm-backports main\n"
        );
        assert_eq!(private_list(&sources, "trixie"), None);
    }

    #[test]
    fn backports_that_are_configured_already_are_not_listed_twice() {
        let sources = [
            source("", "http://a.example", "bookworm", "main"),
            source("", "http://a.example", "bookworm-backports", "main"),
        ];
        assert_eq!(private_list(&sources, "bookworm").unwrap().matches("backports").count(), 1);
    }
}

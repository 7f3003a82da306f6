//! Diffs as people make them: `diff -u` writes no `diff --git` line, which libgit2 demands. Adds it where it is missing
//! and leaves everything else as it is; whether the diff fits is libgit2's to say.

/// The same diff with git's header before each file.
pub(super) fn with_git_headers(diff: &str) -> String {
    let lines: Vec<&str> = diff.split_inclusive('\n').collect();
    let mut out = String::with_capacity(diff.len() + 256);
    let mut headed = false;
    // Lines of old and new text that the present hunk still has: within them `--- ` is text.
    let (mut old, mut new) = (0u64, 0u64);
    for (n, line) in lines.iter().enumerate() {
        if old > 0 || new > 0 {
            match line.as_bytes().first() {
                Some(b'-') => old = old.saturating_sub(1),
                Some(b'+') => new = new.saturating_sub(1),
                Some(b'\\') => {}
                _ => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
            }
        } else if let Some(sizes) = hunk(line) {
            (old, new) = sizes;
            headed = false;
        } else if line.starts_with("diff --git ") {
            headed = true;
        } else if let (false, Some(before), Some(after)) =
            (headed, name(line, "--- "), lines.get(n + 1).and_then(|l| name(l, "+++ ")))
        {
            out.push_str(&header(before, after));
        }
        out.push_str(line);
    }
    out
}

fn header(before: &str, after: &str) -> String {
    let plain = |name: &str| name.split_once('/').map_or(name, |(_, rest)| rest).to_owned();
    match (before, after) {
        ("/dev/null", _) => format!("diff --git a/{0} b/{0}\nnew file mode 100644\n", plain(after)),
        (_, "/dev/null") => format!("diff --git a/{0} b/{0}\ndeleted file mode 100644\n", plain(before)),
        _ => format!("diff --git a/{} b/{}\n", plain(before), plain(after)),
    }
}

/// A file's name after its mark, without the time that `diff -u` appends.
fn name<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    Some(line.strip_prefix(mark)?.split('\t').next()?.trim_end())
}

/// Old and new length of `@@ -1,2 +3,4 @@`; a length left out is 1.
fn hunk(line: &str) -> Option<(u64, u64)> {
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let mut length = |mark: char| -> Option<u64> {
        let range = words.next()?.strip_prefix(mark)?;
        range.split_once(',').map_or(Some(1), |(_, n)| n.parse().ok())
    };
    Some((length('-')?, length('+')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_added_once_for_each_file_that_has_none() {
        let plain = "--- a/x\t2024-01-01\n+++ b/x\t2024-01-02\n@@ -1,2 +1 @@\n--- not a header\n-y\n+z\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+q\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-q\n";
        let text = with_git_headers(plain);
        assert_eq!(text.matches("diff --git").count(), 3);
        assert!(text.starts_with("diff --git a/x b/x\n--- a/x"), "{text}");
        assert!(text.contains("diff --git a/new b/new\nnew file mode 100644\n--- /dev/null"), "{text}");
        assert!(text.contains("diff --git a/old b/old\ndeleted file mode 100644\n--- a/old"), "{text}");
        assert_eq!(with_git_headers(&text), text, "one that has them stays as it is");
    }
}

//! Inert rebuilds: the same program with something in it that changes where everything lies and nothing of what it
//! does. Pure text.

/// The `index`-th inert rebuild of a program's `main.rs`: bytes that nothing reads and a function that nothing calls,
/// both of another size each time, kept by the linker. They shift every address after them, as any change would.
pub fn rebuild(main: &str, index: usize) -> String {
    let bytes = 64 + 1_000 * index + 8 * (index % 5);
    let mut text = main.to_owned();
    text.push_str(&format!(
        "\n#[used]\nstatic INERT_BYTES: [u8; {bytes}] = [{}; {bytes}];\n\n#[used]\nstatic INERT_CALL: extern \"C\" fn(u64) -> u64 = inert_call;\n\nextern \"C\" fn inert_call(mut x: u64) -> u64 {{\n",
        index + 1
    ));
    for round in 0..(4 + 9 * index) {
        text.push_str(&format!("    x = x.rotate_left({}) ^ {};\n", round % 63 + 1, (round + 1) * 0x9E37));
    }
    text.push_str("    x\n}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rebuilds_keep_the_program_and_differ_from_each_other() {
        let all: Vec<String> = (0..8).map(|index| rebuild("fn main() {}\n", index)).collect();
        for (index, text) in all.iter().enumerate() {
            assert!(text.starts_with("fn main() {}\n"));
            assert!(all[..index].iter().all(|other| other != text));
        }
    }
}

//! From a distribution's bzImage to the kernel proper. A bzImage is a loader with the kernel packed inside; the machine
//! takes the kernel itself. Here is only the cutting and unpacking.

use anyhow::{Context, Result, bail, ensure};

/// Offsets in the header that the x86 boot protocol defines (kernel documentation, "The Linux/x86 Boot Protocol").
const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: usize = 0x202;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

/// What the kernel's build prepends to an lz4 payload: the legacy frame, blocks of at most 8 MiB with no checksum.
const LZ4_LEGACY: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];
const LZ4_BLOCK: usize = 8 << 20;

/// The ELF inside a bzImage.
pub fn unpack(bz_image: &[u8]) -> Result<Vec<u8>> {
    ensure!(bz_image.get(MAGIC..MAGIC + 4) == Some(b"HdrS"), "this is no bzImage: it has no boot header");
    let sectors = match bz_image[SETUP_SECTORS] {
        0 => 4,
        n => usize::from(n),
    };
    let start = (sectors + 1) * 512 + number(bz_image, PAYLOAD_OFFSET)?;
    let length = number(bz_image, PAYLOAD_LENGTH)?;
    let payload =
        bz_image.get(start..start + length).context("the kernel's payload lies beyond the end of the file")?;
    let Some(blocks) = payload.strip_prefix(&LZ4_LEGACY) else {
        bail!(
            "the kernel is packed with something other than lz4 (it begins {:02x?}): use a Debian cloud kernel",
            &payload[..4.min(length)]
        );
    };
    // The last four bytes say the unpacked size; the frame itself has no end mark.
    let (blocks, size) = blocks.split_last_chunk::<4>().context("the kernel's payload is empty")?;
    let elf = unpack_blocks(blocks).context("cannot unpack the kernel's lz4 payload")?;
    ensure!(
        elf.len() == u32::from_le_bytes(*size) as usize,
        "the kernel unpacks to {} bytes, not as many as it says",
        elf.len()
    );
    ensure!(elf.starts_with(b"\x7fELF"), "what the kernel unpacks to is no ELF");
    Ok(elf)
}

fn unpack_blocks(mut rest: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    while let Some((length, body)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let (block, tail) = body.split_at_checked(length).context("a block is cut off")?;
        out.extend(lz4_flex::block::decompress(block, LZ4_BLOCK)?);
        rest = tail;
    }
    ensure!(rest.is_empty(), "{} bytes are left over", rest.len());
    Ok(out)
}

fn number(bytes: &[u8], at: usize) -> Result<usize> {
    let four = bytes.get(at..at + 4).context("the boot header is cut off")?;
    Ok(u32::from_le_bytes(four.try_into().expect("four bytes")) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bzImage with two blocks, as the kernel's build makes it.
    fn image(kernel: &[u8]) -> Vec<u8> {
        let mut payload = LZ4_LEGACY.to_vec();
        for part in kernel.chunks(kernel.len().div_ceil(2)) {
            let packed = lz4_flex::block::compress(part);
            payload.extend((packed.len() as u32).to_le_bytes());
            payload.extend(packed);
        }
        payload.extend((kernel.len() as u32).to_le_bytes());
        let (sectors, offset) = (3u8, 100u32);
        let mut image = vec![0; 4 * 512 + offset as usize];
        image[SETUP_SECTORS] = sectors;
        image[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
        image[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 4].copy_from_slice(&offset.to_le_bytes());
        image[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend(payload);
        image.extend(b"something behind it");
        image
    }

    #[test]
    fn the_kernel_comes_out_of_a_bz_image_whole() {
        let kernel: Vec<u8> = b"\x7fELF".iter().copied().chain((0..5000u32).map(|i| (i / 7) as u8)).collect();
        assert_eq!(unpack(&image(&kernel)).unwrap(), kernel);
    }

    #[test]
    fn a_damaged_image_is_refused_with_what_is_wrong() {
        let good = image(b"\x7fELF and the rest");
        assert!(unpack(b"short").unwrap_err().to_string().contains("no bzImage"));
        assert!(unpack(&good[..good.len() - 30]).unwrap_err().to_string().contains("beyond the end"));
        let mut other = good.clone();
        other[4 * 512 + 100] = 0x28;
        assert!(unpack(&other).unwrap_err().to_string().contains("other than lz4"));
        assert!(unpack(&image(b"not a kernel")).unwrap_err().to_string().contains("no ELF"));
    }
}

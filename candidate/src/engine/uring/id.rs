//! What the kernel hands back with every completion: which operation it was, and whose.

/// A connection. The generation tells it from others that had the same key before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerId {
    /// Its place among the connections.
    pub key: u32,
    /// Counted up with every connection; the lowest 24 bits.
    pub generation: u32,
}

/// Bits of a generation.
const GENERATION: u32 = (1 << 24) - 1;

impl PeerId {
    /// The `number`th connection, at `key`.
    pub fn new(key: usize, number: u32) -> Self {
        Self { key: u32::try_from(key).expect("fewer connections than descriptors"), generation: number & GENERATION }
    }
}

/// An operation in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Waiting for connections.
    Accept,
    /// Receiving for a connection.
    Receive(PeerId),
    /// Sending; the number is that of the bytes on their way.
    Send(u32),
    /// Waiting for the next sweep.
    Timer,
    /// Waiting for the request to end.
    Stop,
    /// Something whose outcome does not matter: it concerns a connection that is given up.
    Aside,
}

impl Operation {
    /// As the kernel keeps it.
    pub fn encode(self) -> u64 {
        let whose =
            |kind: u64, generation: u32, number: u32| kind << 56 | u64::from(generation) << 32 | u64::from(number);
        match self {
            Self::Aside => whose(0, 0, 0),
            Self::Accept => whose(1, 0, 0),
            Self::Receive(peer) => whose(2, peer.generation, peer.key),
            Self::Send(number) => whose(3, 0, number),
            Self::Timer => whose(4, 0, 0),
            Self::Stop => whose(5, 0, 0),
        }
    }

    /// From what the kernel has kept.
    pub fn decode(data: u64) -> Self {
        let number = data as u32;
        match data >> 56 {
            1 => Self::Accept,
            2 => Self::Receive(PeerId { key: number, generation: (data >> 32) as u32 & GENERATION }),
            3 => Self::Send(number),
            4 => Self::Timer,
            5 => Self::Stop,
            _ => Self::Aside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_back_as_they_were() {
        let peer = PeerId::new(usize::from(u16::MAX) + 7, u32::MAX);
        for operation in [
            Operation::Accept,
            Operation::Receive(peer),
            Operation::Receive(PeerId::new(0, 1)),
            Operation::Send(u32::MAX),
            Operation::Timer,
            Operation::Stop,
            Operation::Aside,
        ] {
            assert_eq!(Operation::decode(operation.encode()), operation);
        }
        assert_ne!(PeerId::new(3, 1), PeerId::new(3, 2), "the same place, another connection");
    }
}

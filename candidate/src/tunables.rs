//! The declared knobs: each a constant with its meaning, the values it may take, and the value in force.
//! The first choice of an enum is the plain one. What every request pays for comes first, then what a connection or a turn
//! pays for, then what one engine only. No knob changes a byte of any answer; what a choice does is where it is used.

use crate::choices::*;

/// Who reads the head of a request.
/// choices: HeadParser::Httparse | HeadParser::Blocks | HeadParser::OnePass
pub const HEAD_PARSER: HeadParser = HeadParser::Blocks;

/// How wanted fields are found among those httparse returns.
/// choices: FieldLookup::ByName | FieldLookup::OneWalk
pub const FIELD_LOOKUP: FieldLookup = FieldLookup::OneWalk;

/// How many slots httparse gets.
/// choices: HeaderSlots::All | HeaderSlots::FewFirst
pub const HEADER_SLOTS: HeaderSlots = HeaderSlots::All;

/// How a target becomes a route.
/// choices: Routing::Segments | Routing::WholeFirst
pub const ROUTING: Routing = Routing::WholeFirst;

/// Who reads the client's address.
/// choices: AddressParser::Std | AddressParser::Digits
pub const ADDRESS_PARSER: AddressParser = AddressParser::Digits;

/// What is done for the key of the MAC.
/// choices: MacKey::PerToken | MacKey::Prepared
pub const MAC_KEY: MacKey = MacKey::Prepared;

/// How a token's MAC is compared.
/// choices: MacCheck::Decode | MacCheck::Encode
pub const MAC_CHECK: MacCheck = MacCheck::Decode;

/// Who codes base64url.
/// choices: Base64::Crate | Base64::Table | Base64::Vector
pub const BASE64: Base64 = Base64::Vector;

/// How a token's header segment is judged.
/// choices: TokenHeader::Parse | TokenHeader::KnownFirst
pub const TOKEN_HEADER: TokenHeader = TokenHeader::KnownFirst;

/// How a token's payload segment is read.
/// choices: TokenPayload::Parse | TokenPayload::KnownFirst
pub const TOKEN_PAYLOAD: TokenPayload = TokenPayload::KnownFirst;

/// Who reads the JSON of a token.
/// choices: JsonReader::General | JsonReader::FlatFirst
pub const TOKEN_JSON: JsonReader = JsonReader::FlatFirst;

/// Who reads the JSON of a request body.
/// choices: JsonReader::General | JsonReader::FlatFirst
pub const BODY_JSON: JsonReader = JsonReader::FlatFirst;

/// What becomes of a JSON string without escapes.
/// choices: JsonText::Owned | JsonText::Borrowed
pub const JSON_TEXT: JsonText = JsonText::Borrowed;

/// How the head of a response is made.
/// choices: ResponseHead::Formatted | ResponseHead::Prerendered
pub const RESPONSE_HEAD: ResponseHead = ResponseHead::Prerendered;

/// How the body of `GET /user` is made.
/// choices: UserBody::PerRequest | UserBody::Kept
pub const USER_BODY: UserBody = UserBody::Kept;

/// How JSON strings are escaped.
/// choices: Escaping::EachChar | Escaping::Stretches
pub const ESCAPING: Escaping = Escaping::Stretches;

/// What hashes the keys of tables.
/// choices: TableHash::Sip | TableHash::Multiply
pub const TABLE_HASH: TableHash = TableHash::Multiply;

/// How the country of an address is found.
/// choices: CountryLookup::BinarySearch | CountryLookup::Indexed16 | CountryLookup::Trie
pub const COUNTRY_LOOKUP: CountryLookup = CountryLookup::Trie;

/// How a user's country is compared with that of the address.
/// choices: CountryMatch::ByText | CountryMatch::ByNumber
pub const COUNTRY_MATCH: CountryMatch = CountryMatch::ByText;

/// How an address is looked for among the blocked subnets.
/// choices: SubnetCheck::EveryLength | SubnetCheck::UsedLengths | SubnetCheck::Ranges
pub const SUBNET_CHECK: SubnetCheck = SubnetCheck::Ranges;

/// How often a worker looks whether the shared tables have changed.
/// choices: StateCheck::PerRequest | StateCheck::PerBatch
pub const STATE_CHECK: StateCheck = StateCheck::PerRequest;

/// Which worker gets a new connection.
/// choices: ListenerCpu::Any | ListenerCpu::Workers
pub const LISTENER_CPU: ListenerCpu = ListenerCpu::Workers;

/// When output is handed to the kernel.
/// choices: WriteMode::PerResponse | WriteMode::PerBatch
pub const WRITE_MODE: WriteMode = WriteMode::PerBatch;

/// Bytes asked for in one read of a socket.
/// choices: 2048 | 4096 | 16384 | 65536
pub const READ_BUFFER: usize = 4096;

/// epoll: where the bytes of a socket are read into.
/// choices: ReadInto::Scratch | ReadInto::Connection | ReadInto::Lent
pub const READ_INTO: ReadInto = ReadInto::Scratch;

/// epoll: how long a connection is read in one turn.
/// choices: ReadUntil::WouldBlock | ReadUntil::ShortRead
pub const READ_UNTIL: ReadUntil = ReadUntil::ShortRead;

/// Bytes a connection's output buffer can hold before it grows for the first time.
/// choices: 0 | 512 | 2048 | 8192
pub const OUTPUT_START: usize = 0;

/// epoll: events fetched by one poll.
/// choices: 16 | 64 | 256 | 1024
pub const EVENTS_PER_POLL: usize = 64;

/// epoll: connections accepted before others get their turn.
/// choices: 1 | 16 | 256
pub const ACCEPT_BURST: usize = 1;

/// epoll: which readiness a connection is registered for.
/// choices: Interest::Both | Interest::WriteWhenBlocked
pub const INTEREST: Interest = Interest::Both;

/// epoll: where `TCP_NODELAY` is set. With io_uring sockets always inherit it.
/// choices: NoDelay::OnAccept | NoDelay::Inherited
pub const NO_DELAY: NoDelay = NoDelay::OnAccept;

/// How often the clock is read.
/// choices: Clock::PerTurn | Clock::PerPoll
pub const CLOCK: Clock = Clock::PerTurn;

/// Milliseconds between two looks at the time limits of all connections.
/// choices: 250 | 500 | 1000
pub const SWEEP_EVERY: u64 = 250;

/// What becomes of a closed connection's buffers.
/// choices: Buffers::Allocated | Buffers::Pooled
pub const BUFFERS: Buffers = Buffers::Allocated;

/// The engine that `--engine auto` tries first.
/// choices: EngineChoice::Epoll | EngineChoice::Uring
pub const ENGINE: EngineChoice = EngineChoice::Epoll;

/// io_uring: places for submissions in a ring.
/// choices: 64 | 256 | 1024
pub const RING_ENTRIES: u32 = 256;

/// io_uring: buffers to receive into, each of `READ_BUFFER` bytes.
/// choices: 256 | 512 | 2048
pub const RING_BUFFERS: u16 = 512;

/// io_uring: when the kernel runs what a ring has put off.
/// choices: TaskRun::Cooperative | TaskRun::Deferred
pub const TASK_RUN: TaskRun = TaskRun::Deferred;

/// io_uring: how a ring receives.
/// choices: Receiving::Single | Receiving::Multishot
pub const RECEIVING: Receiving = Receiving::Multishot;

/// io_uring: what a ring says about output that the socket has taken at once.
/// choices: Sending::Reported | Sending::Unreported
pub const SENDING: Sending = Sending::Unreported;

/// io_uring: whose descriptors the sockets are.
/// choices: Descriptors::Process | Descriptors::Ring
pub const DESCRIPTORS: Descriptors = Descriptors::Process;

#[cfg(test)]
mod tests {
    const MARK: &str = "/// choices: ";

    /// `(name, choices, value)` of every knob, read from this very file the way the harness reads it.
    fn declared() -> Vec<(&'static str, Vec<&'static str>, &'static str)> {
        let source = include_str!("tunables.rs");
        let lines: Vec<&str> = source.lines().collect();
        let mut knobs = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            let Some(rest) = line.strip_prefix("pub const ") else {
                continue;
            };
            let choices = lines[number - 1].strip_prefix(MARK).unwrap_or_else(|| panic!("no choices above {line}"));
            assert!(lines[number - 2].starts_with("/// "), "no meaning above {line}");
            let (name, rest) = rest.split_once(": ").expect("a type");
            let (_, value) = rest.split_once(" = ").expect("a value");
            let value = value.strip_suffix(';').expect("an end on the same line");
            knobs.push((name, choices.split(" | ").collect(), value));
        }
        knobs
    }

    #[test]
    fn every_knob_is_declared_in_the_form_the_harness_reads() {
        let knobs = declared();
        assert!(knobs.len() >= 15, "only {} knobs", knobs.len());
        for (name, choices, value) in knobs {
            assert!(choices.len() >= 2, "{name} has no alternative");
            assert!(choices.contains(&value), "{name} = {value} is not among {choices:?}");
            let mut once = choices.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), choices.len(), "{name} repeats a choice");
        }
    }
}

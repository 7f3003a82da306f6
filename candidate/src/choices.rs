//! The types of the tunables that are not numbers: one enum a question, one variant an answer.
//! The values in force are in `tunables.rs`; what a variant does is decided where it is used.

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident),+ $(,)? })+) => {
        $($(#[$doc])* #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vdoc])* $variant),+ })+
    };
}

choices! {
    /// What moves bytes between sockets and connections.
    EngineChoice {
        /// Readiness by epoll, and a system call for each read and write.
        Epoll,
        /// Completions by io_uring.
        Uring,
    }
    /// When the kernel runs what a ring has put off.
    TaskRun {
        /// When the worker asks for events.
        Deferred,
        /// Whenever the worker enters the kernel.
        Cooperative,
    }
    /// How a ring receives.
    Receiving {
        /// Asked once, until something ends it.
        Multishot,
        /// Asked again after each piece.
        Single,
    }
    /// What a ring says about output that the socket has taken at once.
    Sending {
        /// A completion for each send.
        Reported,
        /// Nothing: what is not reported after it was handed over is sent.
        Unreported,
    }
    /// Whose descriptors the sockets of a ring are.
    Descriptors {
        /// The process's.
        Process,
        /// The ring's own.
        Ring,
    }
    /// Which worker gets a new connection.
    ListenerCpu {
        /// One chosen by the connection's addresses.
        Any,
        /// The one of the core that has received it, where the kernel can tell.
        Workers,
    }
    /// When output is handed to the kernel.
    WriteMode {
        /// After every response.
        PerResponse,
        /// Once everything that was read is answered.
        PerBatch,
    }
    /// Where the bytes of a socket are read into.
    ReadInto {
        /// A buffer of the worker, then copied to the connection's.
        Scratch,
        /// The connection's own buffer.
        Connection,
        /// A buffer of the worker, lent to the connection while it has nothing of its own.
        Lent,
    }
    /// How long a connection is read in one turn.
    ReadUntil {
        /// Until the kernel says there is nothing more.
        WouldBlock,
        /// Until a read returns less than was asked for.
        ShortRead,
    }
    /// Which readiness a connection is registered for.
    Interest {
        /// Reading and writing from the start.
        Both,
        /// Reading; writing only once a write did not go through.
        WriteWhenBlocked,
    }
    /// Where `TCP_NODELAY` is set.
    NoDelay {
        /// On each accepted socket.
        OnAccept,
        /// On the listener, whose sockets inherit it.
        Inherited,
    }
    /// How often the clock is read.
    Clock {
        /// For every turn of a connection.
        PerTurn,
        /// Once after each poll.
        PerPoll,
    }
    /// What becomes of a closed connection's buffers.
    Buffers {
        /// Given back to the allocator.
        Allocated,
        /// Kept for the next connection.
        Pooled,
    }
    /// Who reads the head of a request.
    HeadParser {
        /// Lines are walked to find the end, then httparse reads the fields.
        Httparse,
        /// A single pass that finds the end and sorts the fields as it goes.
        OnePass,
        /// 32 bytes at a time for sound heads, where the processor can; httparse for everything else.
        Blocks,
    }
    /// How wanted fields are found among those httparse returns.
    FieldLookup {
        /// Each wanted name is looked for in all fields.
        ByName,
        /// All fields are walked once and sorted by the length of their names.
        OneWalk,
    }
    /// How many slots httparse gets.
    HeaderSlots {
        /// As many as are allowed.
        All,
        /// A few, and all in a second try if there are more fields.
        FewFirst,
    }
    /// How a target becomes a route.
    Routing {
        /// Split at the slashes, then compared segment by segment.
        Segments,
        /// The two frequent targets are compared whole first.
        WholeFirst,
    }
    /// Who reads the client's address.
    AddressParser {
        /// The standard library.
        Std,
        /// A loop over the digits.
        Digits,
    }
    /// What is done for the key of the MAC.
    MacKey {
        /// The key is absorbed for every token.
        PerToken,
        /// The absorbed key is kept and copied.
        Prepared,
    }
    /// How a token's MAC is compared.
    MacCheck {
        /// The presented text is decoded and the bytes compared.
        Decode,
        /// The right MAC is encoded and the texts compared.
        Encode,
    }
    /// Who codes base64url.
    Base64 {
        /// The base64 crate.
        Crate,
        /// Tables and loops of our own.
        Table,
        /// 32 characters at a time, where the processor can; tables where not.
        Vector,
    }
    /// How a token's header segment is judged.
    TokenHeader {
        /// Decoded and read as JSON.
        Parse,
        /// Compared with the text that we issue ourselves; read as JSON if it differs.
        KnownFirst,
    }
    /// How a token's payload segment is read.
    TokenPayload {
        /// As JSON.
        Parse,
        /// In the form that we issue ourselves; as JSON if it has another.
        KnownFirst,
    }
    /// Who reads a JSON object.
    JsonReader {
        /// serde_json.
        General,
        /// A scanner for flat objects of plain values; serde_json for everything else.
        FlatFirst,
    }
    /// What becomes of a JSON string without escapes.
    JsonText {
        /// Copied.
        Owned,
        /// Borrowed from the input.
        Borrowed,
    }
    /// How the head of a response is made.
    ResponseHead {
        /// Formatted from its parts.
        Formatted,
        /// Copied from what was put together at compile time.
        Prerendered,
    }
    /// How the body of `GET /user` is made.
    UserBody {
        /// Written anew for every request.
        PerRequest,
        /// Kept with the user and written anew when the user changes.
        Kept,
    }
    /// How JSON strings are escaped.
    Escaping {
        /// Character by character.
        EachChar,
        /// Stretches without special characters are copied whole.
        Stretches,
    }
    /// What hashes the keys of tables.
    TableHash {
        /// SipHash with a random key.
        Sip,
        /// A multiplication for eight bytes.
        Multiply,
    }
    /// How the country of an address is found.
    CountryLookup {
        /// Binary search over all ranges.
        BinarySearch,
        /// Binary search among the ranges of the address's upper 16 bits.
        Indexed16,
        /// A trie of 16, 8 and 8 bits.
        Trie,
    }
    /// How a user's country is compared with that of the address.
    CountryMatch {
        /// By name.
        ByText,
        /// By the number of the name.
        ByNumber,
    }
    /// How an address is looked for among the blocked subnets.
    SubnetCheck {
        /// Every prefix length is asked.
        EveryLength,
        /// The prefix lengths in use are asked.
        UsedLengths,
        /// Binary search over merged ranges, made anew when a subnet changes.
        Ranges,
    }
    /// How often a worker looks whether the shared tables have changed.
    StateCheck {
        /// For every request that reads them.
        PerRequest,
        /// Once for all requests that came together on a connection.
        PerBatch,
    }
}

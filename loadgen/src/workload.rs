//! What is sent: how many requests of which kinds over how many connections, and how they are paced. Numbers only.

use serde::{Deserialize, Serialize};

/// How requests are let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// On every connection `pipelining` requests in one write; the next wave when all answers are in.
    #[default]
    Waves,
    /// Each connection keeps `pipelining` requests in flight.
    ClosedLoop,
    /// Each request has a connection of its own, `connections` of them at a time; half ask the server to close it.
    Churn,
}

/// A workload. Whole waves only, so that a window opens and closes with nothing in flight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Workload {
    /// Connections, all open before the first request.
    pub connections: u32,
    /// Requests in flight on a connection.
    pub pipelining: u32,
    /// Requests in the counted window.
    pub requests: u32,
    /// Requests before it, checked as well.
    pub warmup: u32,
    /// How requests are let go.
    pub schedule: Schedule,
    /// Users in the data set.
    pub users: u32,
    /// Network rows in the data set.
    pub networks: u32,
    /// Shares of the kinds of requests.
    pub mix: Mix,
}

impl Default for Workload {
    fn default() -> Workload {
        Workload {
            connections: 64,
            pipelining: 8,
            requests: 5120,
            warmup: 1024,
            schedule: Schedule::Waves,
            users: 2000,
            networks: 4000,
            mix: Mix::default(),
        }
    }
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $field:ident $kind:ident $weight:literal $steps:literal;)+) => {
        /// Kinds of requests. Those of more than one step are chains: their steps come in order, on one
        /// connection within a wave and on others in later waves.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Kind { $($(#[doc = $doc])+ $kind,)+ }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Kind] = &[$(Kind::$kind),+];
            /// Requests that belong together.
            pub fn steps(self) -> usize { match self { $(Kind::$kind => $steps),+ } }
            /// Its name in a workload's `mix`.
            pub fn name(self) -> &'static str { match self { $(Kind::$kind => stringify!($field)),+ } }
        }

        /// The share of each kind among the requests, as weights.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
        pub struct Mix { $($(#[doc = $doc])+ pub $field: u32,)+ }

        impl Default for Mix {
            fn default() -> Mix { Mix { $($field: $weight,)+ } }
        }

        impl Mix {
            /// No kind at all, to be filled in.
            pub const NONE: Mix = Mix { $($field: 0,)+ };

            /// The weight of a kind.
            pub fn weight(&self, kind: Kind) -> u32 { match kind { $(Kind::$kind => self.$field),+ } }
        }
    };
}

kinds! {
    /// GET /user with a good token from a fitting address
    get Get 350 1;
    /// GET /user from an address without a record
    get_no_record GetNoRecord 40 1;
    /// GET /user from another country
    get_other_country GetOtherCountry 40 1;
    /// GET /user with a forged token
    get_forged GetForged 50 1;
    /// GET /user with a token of another algorithm, rightly signed by it
    get_other_algorithm GetOtherAlgorithm 20 1;
    /// GET /user with a token whose time is over or has not come
    get_expired GetExpired 20 1;
    /// GET /user without a readable token
    get_no_token GetNoToken 15 1;
    /// GET /user with a good token of a user who does not exist
    get_unknown GetUnknown 15 1;
    /// GET /user without a readable address
    get_no_address GetNoAddress 20 1;
    /// HEAD /user
    head Head 25 1;
    /// POST /auth, all right
    auth Auth 110 1;
    /// POST /auth with a wrong password
    auth_wrong_password AuthWrongPassword 30 1;
    /// POST /auth by nobody
    auth_unknown AuthUnknown 15 1;
    /// POST /auth from another country
    auth_other_country AuthOtherCountry 15 1;
    /// POST /auth with a body that is not the JSON it should be
    auth_bad_body AuthBadBody 15 1;
    /// PUT /user with something missing or wrong
    put_bad_body PutBadBody 10 1;
    /// PUT /user of a login that is taken
    put_taken PutTaken 10 1;
    /// PUT /user from another country than the new user's
    put_other_country PutOtherCountry 10 1;
    /// PATCH /user with a body that is not JSON
    patch_bad_body PatchBadBody 5 1;
    /// PATCH /user without a good token
    patch_refused PatchRefused 5 1;
    /// A blacklist call by one who may not
    not_admin NotAdmin 10 1;
    /// A blacklist call by an admin that names no subnet
    bad_subnet BadSubnet 10 1;
    /// A blacklist call by an admin about what is not there
    absent Absent 10 1;
    /// A path that does not exist
    nowhere Nowhere 10 1;
    /// A method the path does not have
    bad_method BadMethod 10 1;
    /// A user is created, found taken, logs in, changes, logs in again
    life Life 50 8;
    /// A user is blocked and unblocked
    block Block 40 8;
    /// Subnets are blocked and unblocked, one inside the other
    subnet Subnet 40 11;
    /// A user moves to another country and back
    moving Moving 20 6;
}

/// How many of each kind; a chain counts once.
pub type Counts = Vec<(Kind, usize)>;

impl Workload {
    /// Requests a connection answers in the warm-up and in the window.
    pub fn share(&self, requests: u32) -> u32 {
        requests / self.connections
    }

    /// The largest number of steps a chain can have within `requests` of this workload.
    fn longest(&self, requests: u32) -> usize {
        self.share(requests) as usize
    }

    /// How many of each kind there are among `requests`: a function of the workload, the same for every seed.
    pub fn counts(&self, requests: u32) -> Counts {
        let total: u64 = Kind::ALL.iter().map(|&kind| u64::from(self.mix.weight(kind))).sum();
        let share = |kind: Kind| u64::from(self.mix.weight(kind)) * u64::from(requests);
        let mut left = requests as usize;
        let mut counts = Counts::new();
        for &kind in Kind::ALL.iter().filter(|kind| kind.steps() > 1) {
            let chains =
                if kind.steps() <= self.longest(requests) { (share(kind) / total) as usize / kind.steps() } else { 0 };
            left -= chains * kind.steps();
            counts.push((kind, chains));
        }
        // Largest remainder over what chains leave.
        let single: Vec<Kind> = (Kind::ALL.iter().copied()).filter(|kind| kind.steps() == 1).collect();
        let weights: u64 = single.iter().map(|&kind| u64::from(self.mix.weight(kind))).sum();
        let mut parts: Vec<(Kind, usize, u64)> = (single.iter())
            .map(|&kind| {
                let exact = u64::from(self.mix.weight(kind)) * left as u64;
                (kind, (exact / weights) as usize, exact % weights)
            })
            .collect();
        let missing = left - parts.iter().map(|part| part.1).sum::<usize>();
        parts.sort_by_key(|part| std::cmp::Reverse(part.2));
        for part in parts.iter_mut().take(missing) {
            part.1 += 1;
        }
        parts.sort_by_key(|part| part.0);
        counts.extend(parts.into_iter().map(|(kind, count, _)| (kind, count)));
        counts
    }

    /// Loaded users that chains change, each by one chain only.
    pub fn changed_users(&self) -> usize {
        [self.warmup, self.requests]
            .iter()
            .flat_map(|&requests| self.counts(requests))
            .filter(|(kind, _)| matches!(kind, Kind::Block | Kind::Moving))
            .map(|(_, chains)| chains)
            .sum()
    }

    /// Requests that both parts must be a multiple of: whole waves, or as many for every connection.
    fn step(&self) -> u32 {
        match self.schedule {
            Schedule::Waves => self.connections.saturating_mul(self.pipelining),
            Schedule::ClosedLoop | Schedule::Churn => self.connections,
        }
    }

    /// Lowers the warm-up to what fits, and raises the users to what is needed, as far as each may be changed.
    pub fn fit(&mut self, warmup: bool, users: bool) {
        if warmup {
            self.warmup -= self.warmup.checked_rem(self.step()).unwrap_or(0);
        }
        if users && self.connections > 0 {
            self.users = self.users.max(self.changed_users() as u32 * 2);
        }
    }

    /// Whether load can be made of it; if not, the field at fault and what would do.
    pub fn validate(&self) -> Result<(), String> {
        let range = |name: &str, value: u32, low: u32, high: u32| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(format!("{name} is {value}: write {low} to {high}"))
            }
        };
        range("connections", self.connections, 1, 10_000)?;
        range("pipelining", self.pipelining, 1, 1024)?;
        range("requests", self.requests, 1, 4_000_000)?;
        range("warmup", self.warmup, 0, 4_000_000)?;
        range("users", self.users, 100, 1_000_000)?;
        range("networks", self.networks, 200, 5_000_000)?;
        let step = self.step();
        for (name, value) in [("requests", self.requests), ("warmup", self.warmup)] {
            if value % step != 0 {
                let (down, up) = (value / step * step, value.div_ceil(step) * step);
                return Err(format!(
                    "{name} is {value}: with these connections and pipelining it must be a multiple of {step}, such as {down} or {up}"
                ));
            }
        }
        let single = |kind: &&Kind| kind.steps() == 1;
        if Kind::ALL.iter().filter(single).all(|&kind| self.mix.weight(kind) == 0) {
            return Err("mix has no kind of a single request with a weight: give `get` one".into());
        }
        if let Some(kind) = Kind::ALL.iter().find(|&&kind| self.mix.weight(kind) > 1_000_000) {
            return Err(format!("mix.{} is over 1000000: weights are shares, use smaller ones", kind.name()));
        }
        let changed = self.changed_users();
        if changed * 2 > self.users as usize {
            return Err(format!(
                "users is {}: {changed} of them are blocked or moved, and at least as many must stay untouched: write {} or more",
                self.users,
                changed * 2
            ));
        }
        let subnets: usize = [self.warmup, self.requests]
            .iter()
            .flat_map(|&requests| self.counts(requests))
            .filter(|(kind, _)| *kind == Kind::Subnet)
            .map(|(_, chains)| chains)
            .sum();
        // Half of them have no record, so that anybody may ask from there; the others need a user of their country.
        let most = crate::dataset::PRIVATE_SUBNETS / 2;
        if subnets > most {
            return Err(format!(
                "mix.subnet is {}: it asks for {subnets} subnets of their own, and there are {}",
                self.mix.subnet, most
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_and_its_counts_add_up() {
        let workload = Workload::default();
        workload.validate().unwrap();
        for requests in [workload.warmup, workload.requests] {
            let counts = workload.counts(requests);
            let total: usize = counts.iter().map(|(kind, count)| kind.steps() * count).sum();
            assert_eq!(total, requests as usize);
            assert!(counts.iter().all(|(_, count)| *count > 0), "{counts:?}");
        }
    }

    #[test]
    fn a_bad_field_is_named() {
        let broken = |change: fn(&mut Workload)| {
            let mut workload = Workload::default();
            change(&mut workload);
            workload.validate().unwrap_err()
        };
        assert!(broken(|w| w.connections = 0).starts_with("connections"));
        assert!(broken(|w| w.requests = 5121).contains("multiple of 512"));
        assert!(broken(|w| w.warmup = 1).starts_with("warmup"));
        assert!(broken(|w| w.requests = 512_000).starts_with("users"));
    }

    #[test]
    fn what_was_not_asked_for_fits_itself_to_what_was() {
        let mut workload = Workload { connections: 10_000, pipelining: 10, requests: 500_000, ..Workload::default() };
        workload.fit(true, true);
        workload.validate().unwrap();
        assert_eq!(workload.warmup, 0);
        assert!(workload.users > Workload::default().users);
        let mut small = Workload::default();
        small.fit(true, true);
        assert_eq!(small, Workload::default());
        let mut fixed = Workload { connections: 10_000, ..Workload::default() };
        fixed.fit(false, false);
        assert_eq!((fixed.warmup, fixed.users), (1024, 2000));
    }

    #[test]
    fn unknown_fields_are_refused() {
        let read = |text| serde_json::from_str::<Workload>(text);
        assert!(read(r#"{"connections":8,"mix":{"get":1}}"#).is_ok());
        assert!(read(r#"{"conections":8}"#).is_err());
        assert!(read(r#"{"mix":{"gett":1}}"#).is_err());
    }
}

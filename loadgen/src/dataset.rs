//! Data sets: the three files a server loads, made from a seed, and the contract's own fixture. The oracle reads
//! the values here, the server the bytes; nothing here sends anything.

mod files;
mod fixture;
mod generate;

use crate::model::country::Countries;
pub use fixture::fixture;
pub(crate) use generate::{LOGIN_LENGTHS, Texts};
use std::path::{Path, PathBuf};

/// A user as the data set or a request describes one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    /// The login, never empty.
    pub login: String,
    /// The password in plain text.
    pub password: String,
    /// The name shown.
    pub name: String,
    /// The phone number shown.
    pub phone: String,
    /// The only country the user may come from.
    pub country: String,
    /// Whether the user may change the black lists.
    pub admin: bool,
}

/// A row of the locations file: its id, and the country's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// `geoname_id`, compared as text.
    pub id: String,
    /// `country_name`, may be empty.
    pub country: String,
}

/// A row of the blocks file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The network as written: host bits may be set.
    pub address: u32,
    /// The prefix length.
    pub length: u8,
    /// `geoname_id`: may be empty, or name no location.
    pub id: String,
    /// `registered_country_geoname_id`: never to be used.
    pub registered: String,
}

/// Where addresses may be taken from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Zones {
    /// First octets with networks, used by everybody and never blocked.
    pub shared: Vec<u8>,
    /// First octets whose parts are blocked and unblocked, each part by one chain of requests.
    pub private: Vec<u8>,
    /// First octets of which the data set says nothing.
    pub bare: Vec<u8>,
}

/// Parts of the private octets that can be blocked and unblocked without touching each other: 16 octets of 4096.
pub const PRIVATE_SUBNETS: usize = 16 * 4096;

/// A data set: what the files say, and the files.
#[derive(Debug, Clone)]
pub struct DataSet {
    /// Users by the last line that names them. The first half, admins among them, is never to be changed.
    pub users: Vec<User>,
    /// Locations, in the order of the file.
    pub locations: Vec<Location>,
    /// Networks, in the order of the file.
    pub blocks: Vec<Block>,
    /// Where addresses may be taken from.
    pub zones: Zones,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl DataSet {
    /// The files, by their path within the data folder.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        self.files.clone()
    }

    /// Writes the files below `dir`, which is made where missing.
    pub fn write(&self, dir: &Path) -> anyhow::Result<()> {
        use anyhow::Context;
        for (path, bytes) in &self.files {
            let path = dir.join(path);
            let folder = path.parent().unwrap_or(dir);
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, bytes)).with_context(|| {
                format!("cannot write {}: is the folder writable and the disk not full?", path.display())
            })?;
        }
        Ok(())
    }

    /// The oracle's view of the networks.
    pub fn countries(&self) -> Countries {
        Countries::new(
            (self.locations.iter()).map(|location| (location.id.as_str(), location.country.as_str())),
            (self.blocks.iter()).map(|block| (block.address, block.length, block.id.as_str())),
        )
    }
}

//! Chains: requests whose right answers depend on those before them. Each chain owns what it changes, alone.

use super::ask::Ask;
use super::draw::{Draw, Sender};
use crate::model::Members;
use crate::workload::Kind;

impl Draw {
    /// The steps of a chain, in order.
    pub fn chain(&mut self, kind: Kind) -> Vec<Ask> {
        let steps = match kind {
            Kind::Life => self.life(kind),
            Kind::Block => self.block(kind),
            Kind::Subnet => self.subnet(kind),
            Kind::Moving => self.moving(kind),
            other => vec![self.single(other)],
        };
        debug_assert_eq!(steps.len(), kind.steps(), "{kind:?}");
        steps
    }

    fn life(&mut self, kind: Kind) -> Vec<Ask> {
        let country = self.pool.user(&mut self.chance).country;
        let home = self.pool.inside(&mut self.chance, &country);
        let login = self.new_login();
        let members = self.newcomer(login.clone(), country);
        let old = members.password.clone().unwrap_or_default();
        let new = format!("{}+", self.text());
        let change = Members {
            password: Some(new.clone()),
            name: Some(self.text()),
            phone: if self.chance.once_in(2) { Some(self.text()) } else { None },
            ..Members::default()
        };
        let known = |draw: &mut Draw| Sender::at(home).proving(draw, &login);
        let (first, second, third) = (known(self), known(self), known(self));
        vec![
            self.write(kind, "PUT", Sender::at(home), &members),
            self.get(kind, "GET", first),
            self.write(kind, "PUT", Sender::at(home), &members),
            self.auth(kind, home, &login, Some(&old)),
            self.write(kind, "PATCH", second, &change),
            self.get(kind, "GET", third),
            self.auth(kind, home, &login, Some(&old)),
            self.auth(kind, home, &login, Some(&new)),
        ]
    }

    fn block(&mut self, kind: Kind) -> Vec<Ask> {
        let victim = self.pool.changeable();
        let home = self.home(&victim);
        let get = |draw: &mut Draw| {
            let sender = Sender::at(home).proving(draw, &victim.login);
            draw.get(kind, "GET", sender)
        };
        let list = |draw: &mut Draw, put| {
            let sender = draw.as_admin();
            draw.about_user(kind, put, sender, &victim.login)
        };
        vec![
            get(self),
            list(self, true),
            get(self),
            self.auth(kind, home, &victim.login, Some(&victim.password)),
            list(self, true),
            list(self, false),
            get(self),
            list(self, false),
        ]
    }

    fn subnet(&mut self, kind: Kind) -> Vec<Ask> {
        let part = self.pool.part(&mut self.chance);
        // In the lower half of the part a wide subnet, in whose upper half a narrow one.
        let wide = self.chance.between(22, 25) as u8;
        let wide_base = part.base | (self.chance.below(1 << (wide - 21)) as u32) << (32 - wide);
        let narrow = wide + self.chance.between(1, 3) as u8;
        let narrow_base = wide_base | 1 << (31 - wide);
        let outside = part.base | 1 << 11 | self.chance.below(1 << 11) as u32;
        let in_wide = wide_base | self.chance.below(1 << (31 - wide)) as u32;
        let in_narrow = narrow_base | self.chance.below(1 << (32 - narrow)) as u32;
        let other_host = wide_base | self.chance.below(1 << (32 - wide)) as u32;
        let get = |draw: &mut Draw, address| {
            let visitor = draw.pool.visitor(&mut draw.chance, &part);
            let sender = Sender::at(address).proving(draw, &visitor.login);
            draw.get(kind, "GET", sender)
        };
        let list = |draw: &mut Draw, put, subnet| {
            let sender = draw.as_admin();
            draw.about_subnet(kind, put, sender, subnet)
        };
        vec![
            list(self, true, (in_wide, wide)),
            get(self, in_wide),
            get(self, outside),
            list(self, true, (other_host, wide)),
            list(self, true, (in_narrow, narrow)),
            list(self, false, (in_narrow, wide)),
            get(self, in_narrow),
            get(self, in_wide),
            list(self, false, (narrow_base, narrow)),
            list(self, false, (wide_base, wide)),
            get(self, in_narrow),
        ]
    }

    fn moving(&mut self, kind: Kind) -> Vec<Ask> {
        let user = self.pool.changeable();
        let there_name = self.pool.other(&mut self.chance, &user.country);
        let here = self.home(&user);
        let there = self.pool.inside(&mut self.chance, &there_name);
        let get = |draw: &mut Draw, address| {
            let sender = Sender::at(address).proving(draw, &user.login);
            draw.get(kind, "GET", sender)
        };
        let go = |draw: &mut Draw, address, country: &str| {
            let sender = Sender::at(address).proving(draw, &user.login);
            let members = Members { country: Some(country.into()), ..Members::default() };
            draw.write(kind, "PATCH", sender, &members)
        };
        vec![
            get(self, here),
            go(self, here, &there_name),
            get(self, here),
            get(self, there),
            go(self, there, &user.country),
            get(self, here),
        ]
    }
}

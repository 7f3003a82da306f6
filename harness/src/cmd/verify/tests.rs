//! A repository and a ledger that agree, and then each thing that can be wrong with either.

use std::fs;

use git2::{Repository, Signature, Time};
use tempfile::TempDir;

use super::*;
use crate::data::attempts::{Part, Samples};
use crate::data::ledger::Ledger;
use crate::judge::decide::{Confirming, Rule, confirm};
use crate::judge::outcome::{Outcome, Verdict};
use crate::judge::record::{Changed, EndReason};
use crate::judge::sample::{Load, Pair, Sample, Side};
use crate::judge::schedule::{Schedule, Turn};
use crate::judge::statistics::Noise;
use crate::os::git::CommitId;
use crate::real::story;

const NOISE: Noise = Noise { sigma_aa: 0.0005, relink: 0.0005, quantum: 0.0 };

/// A night with one promotion.
struct World {
    folder: TempDir,
    repo: Repo,
    base: CommitId,
    attempted: CommitId,
    promoted: CommitId,
}

fn pairs(turns: &[Turn]) -> Vec<Pair> {
    pairs_at(turns, 10_000_000)
}

/// The challenger needs so many user instructions, the champion 15 million.
fn pairs_at(turns: &[Turn], user: u64) -> Vec<Pair> {
    let load = Load { sent: 1_000, verified: 1_000, wrong: 0, lost: 0 };
    let sample = |seed, user| Sample { seed, user, kernel: 5_000_000, load, side: Side::default() };
    turns
        .iter()
        .map(|turn| Pair { champion: sample(turn.seed, 15_000_000), challenger: sample(turn.seed, user) })
        .collect()
}

fn commit(git: &Repository, parents: &[&str], text: &str, message: &str) -> String {
    let who = Signature::new("Test", "test@example.org", &Time::new(1_772_404_200, 0)).unwrap();
    let blob = git.blob(text.as_bytes()).unwrap();
    let mut tree = git.treebuilder(None).unwrap();
    tree.insert("server.rs", blob, 0o100_644).unwrap();
    let tree = git.find_tree(tree.write().unwrap()).unwrap();
    let parents: Vec<_> = parents.iter().map(|id| git.find_commit(id.parse().unwrap()).unwrap()).collect();
    git.commit(None, &who, &who, message, &tree, &parents.iter().collect::<Vec<_>>()).unwrap().to_string()
}

impl World {
    fn new() -> World {
        World::with(|_| {}, |message| message, "faster")
    }

    /// A night whose record, promoted message or promoted file is another than it should be; the chain holds all the same.
    fn with(record_is: impl Fn(&mut Record), message_is: impl Fn(String) -> String, promoted_file: &str) -> World {
        let folder = tempfile::tempdir().unwrap();
        let git = Repository::init(folder.path()).unwrap();
        let base = commit(&git, &[], "slow", "base");
        git.reference("refs/heads/main", base.parse().unwrap(), true, "test").unwrap();
        git.set_head("refs/heads/main").unwrap();
        let attempted = commit(&git, &[&base], "faster", "attempt");

        let schedule = Schedule::new(7);
        let mut record = Record::opened(1, &base, "it pays", Changed::Patch { name: "1.patch".into() });
        record.commit = Some(attempted.clone());
        record.binary = Some("b".repeat(64));
        record.screen = pairs(&schedule.screen(3));
        record.confirm = pairs(&schedule.confirm(1, 0, &attempted, 3));
        let Confirming::Done(decision) = confirm(&Rule::default(), &record.confirm, 0, &NOISE) else {
            panic!("a third is certain")
        };
        record.outcome = decision.into();
        record_is(&mut record);

        let history = folder.path().join("history");
        let (mut ledger, _) = Ledger::open(&history).unwrap();
        let text = String::new;
        ledger
            .append(Event::RunStarted(Box::new(Start {
                run: "night".into(),
                baseline: base.clone(),
                branch: "search/night".into(),
                definition: text(),
                definition_text: text(),
                harness: text(),
                meter: "vm".into(),
                fingerprint: "f".into(),
                seed: 7,
                noise: NOISE,
                rule: Rule::default(),
            })))
            .unwrap();
        ledger
            .append(Event::Outcome {
                run: "night".into(),
                meter: "vm".into(),
                fingerprint: "f".into(),
                record: Box::new(record.clone()),
            })
            .unwrap();
        let message = message_is(story::promoted(&record, &[], "vm", "f", &ledger.contents().head()));
        let promoted = commit(&git, &[&base], promoted_file, &message);
        let (run, branch) = ("night".to_owned(), "search/night".to_owned());
        ledger.append(Event::Promoted { attempt: 1, run, commit: promoted.clone(), branch }).unwrap();
        let run = "night".to_owned();
        ledger
            .append(Event::RunEnded { run, reason: EndReason::Plateau, champion: promoted.clone(), held: None })
            .unwrap();

        let repo = Repo::open(folder.path()).unwrap();
        let id = |commit: &str| repo.resolve(commit).unwrap();
        let (base, attempted, promoted) = (id(&base), id(&attempted), id(&promoted));
        repo.keep_attempt(1, &attempted).unwrap();
        repo.advance_search_branch("night", &promoted).unwrap();
        let samples = Samples { screen: record.screen.clone(), confirm: record.confirm.clone() };
        Attempts::new(&history).keep(1, Part::Samples, &samples).unwrap();
        Knowledge::new(&folder.path().join("knowledge")).learn("night", &record, &[]).unwrap();
        World { folder, repo, base, attempted, promoted }
    }

    fn git(&self) -> Repository {
        Repository::open(self.folder.path()).unwrap()
    }

    fn point(&self, name: &str, at: &CommitId) {
        self.git().reference(name, at.as_str().parse().unwrap(), true, "test").unwrap();
    }

    fn delete(&self, name: &str) {
        self.git().find_reference(name).unwrap().delete().unwrap();
    }

    fn verify(&self) -> Report {
        verify(&self.repo, &ledger::read(&self.folder.path().join("history")).unwrap()).unwrap()
    }

    /// One objection, with these words in it.
    #[track_caller]
    fn objects(&self, words: &[&str]) {
        let report = self.verify();
        assert_eq!(report.objections.len(), 1, "{report:#?}");
        for word in words {
            assert!(report.objections[0].contains(word), "{word}: {report:#?}");
        }
    }

    /// No objection, and one note with these words in it.
    #[track_caller]
    fn notes(&self, words: &[&str]) {
        let report = self.verify();
        assert_eq!((report.objections.len(), report.notes.len()), (0, 1), "{report:#?}");
        for word in words {
            assert!(report.notes[0].contains(word), "{word}: {report:#?}");
        }
    }
}

/// Nothing but the record is another.
fn with_record(record_is: impl Fn(&mut Record)) -> World {
    World::with(record_is, |message| message, "faster")
}

#[test]
fn a_night_that_agrees_with_its_ledger_has_neither_objection_nor_note() {
    let report = World::new().verify();
    assert_eq!((&report.objections, &report.notes), (&Vec::new(), &Vec::new()));
    let found = (report.lines, report.verdicts, report.attempts, report.promoted, report.samples, report.lessons);
    assert_eq!(found, (4, 1, 1, 1, 1, 1));
    assert!(text(&report).ends_with("The ledger holds, and nothing here contradicts it.\n"), "{}", text(&report));
}

#[test]
fn a_verdict_that_its_pairs_do_not_give_is_objected_to() {
    let small = |record: &mut Record| record.confirm.iter_mut().for_each(|pair| pair.challenger.user = 15_000_000);
    with_record(small).objects(&["attempt 1", "says promote", "give reject"]);
    let cut = |record: &mut Record| record.confirm.truncate(2);
    let objections = with_record(cut).verify().objections;
    assert!(objections[0].contains("no verdict"), "{objections:?}");
}

#[test]
fn an_outcome_that_its_verdict_does_not_make_is_objected_to() {
    let world = with_record(|record| {
        let decision = Box::new(record.outcome.decision().unwrap().clone());
        assert_eq!(decision.verdict, Verdict::Promote);
        record.outcome = Outcome::Banked { decision };
    });
    let objections = world.verify().objections;
    assert!(
        objections.iter().any(|one| one.contains("recorded as banked, its verdict makes it promoted")),
        "{objections:?}"
    );
    assert!(objections.iter().any(|one| one.contains("was promoted, and its outcome is banked")), "{objections:?}");
}

#[test]
fn a_gain_that_its_pairs_do_not_show_is_objected_to() {
    let world = with_record(|record| {
        let mut decision = record.outcome.decision().unwrap().clone();
        decision.estimate.mean += 1e-6;
        record.outcome = decision.into();
    });
    world.objects(&["the ledger's gain is 0.28768"]);
}

#[test]
fn pairs_on_other_seeds_than_the_schedule_s_are_objected_to() {
    let other = |pair: &mut Pair| {
        pair.champion.seed += 1;
        pair.challenger.seed += 1;
    };
    with_record(|record| other(&mut record.confirm[1])).objects(&["confirm pairs are not on the seeds"]);
    with_record(|record| other(&mut record.screen[0])).objects(&["screen pairs are not on the run's"]);
    with_record(|record| record.screen[0].champion.seed += 1).objects(&["screen pairs"]);
}

#[test]
fn a_trailer_that_says_otherwise_is_objected_to_by_its_name() {
    let with_message = |change: fn(String) -> String| World::with(|_| {}, change, "faster");
    with_message(|message| message.replace("Gain: +33", "Gain: +44")).objects(&["trailer Gain", "+44", "+33"]);
    with_message(|message| message.replace("Attempt: 1", "Attempt: 2")).objects(&["trailer Attempt"]);
    with_message(|message| message.replace("Meter: vm f\n", "")).objects(&["no trailer Meter"]);
    let other_line = |message: String| {
        message
            .lines()
            .map(|line| match line.strip_prefix("Ledger: ") {
                Some(_) => format!("Ledger: {}\n", "e".repeat(64)),
                None => format!("{line}\n"),
            })
            .collect()
    };
    with_message(other_line).objects(&["promoted on the ledger's line eeee", "does not have"]);
}

#[test]
fn a_promoted_commit_that_is_not_what_was_measured_is_objected_to() {
    World::with(|_| {}, |message| message, "other").objects(&["server.rs is not what attempt 1 measured"]);
}

#[test]
fn samples_and_lessons_that_say_otherwise_are_objected_to_and_missing_ones_noted() {
    let world = World::new();
    let samples = world.folder.path().join("history/attempts/0001/samples.json");
    let text = fs::read_to_string(&samples).unwrap();
    fs::write(&samples, text.replace("15000000", "15000001")).unwrap();
    world.objects(&["attempt 1", "samples.json", "other pairs"]);
    fs::write(&samples, &text[..text.len() / 2]).unwrap();
    world.objects(&["attempt 1", "samples.json"]);
    fs::remove_file(&samples).unwrap();
    world.notes(&["1 of 1 samples.json are missing here (1)"]);
    fs::write(&samples, text).unwrap();

    let lesson = world.folder.path().join("knowledge/0001-1-patch.md");
    let text = fs::read_to_string(&lesson).unwrap();
    fs::write(&lesson, text.replace("promoted", "rejected")).unwrap();
    world.objects(&["its lesson says \"# 0001 rejected", "# 0001 promoted"]);
    fs::remove_file(&lesson).unwrap();
    world.notes(&["1 of 1 lessons are missing here (1)"]);
}

#[test]
fn an_attempt_s_ref_elsewhere_is_objected_to_and_a_missing_one_noted() {
    let world = World::new();
    world.point("refs/attempts/1", &world.base);
    world.objects(&["refs/attempts/1 is at", world.base.as_str(), world.attempted.as_str()]);
    world.delete("refs/attempts/1");
    world.notes(&["1 of 1 refs/attempts are missing here (1)", "git fetch origin"]);
}

#[test]
fn attempts_behind_the_ledger_s_end_are_noted() {
    let world = World::new();
    for number in [2, 3, 7] {
        world.repo.keep_attempt(number, &world.base).unwrap();
    }
    world.notes(&["refs/attempts 2-3, 7 are of no attempt of this ledger", "cut off the end"]);
}

#[test]
fn a_branch_without_the_last_promotion_is_objected_to_and_an_absent_or_longer_one_noted() {
    let world = World::new();
    let branch = "refs/heads/search/night";
    world.point(branch, &world.base);
    world.objects(&["search/night is at", "does not hold the run's last promotion", world.promoted.as_str()]);
    let git = world.git();
    let further = commit(&git, &[world.promoted.as_str()], "further", "further");
    world.point(branch, &world.repo.resolve(&further).unwrap());
    world.notes(&["search/night is at", "somebody moved it on"]);
    world.delete(branch);
    world.notes(&["search/night is not here (deleted, or not fetched)"]);
    world.point("refs/heads/main", &world.promoted);
    world.notes(&["search/night is not here; the champion it held is part of the checked-out branch"]);
}

#[test]
fn a_clone_that_has_only_the_ledger_is_told_what_is_missing_and_objects_to_nothing() {
    let world = World::new();
    let clone = tempfile::tempdir().unwrap();
    let git = Repository::init(clone.path()).unwrap();
    let other = commit(&git, &[], "another beginning", "other");
    git.reference("refs/heads/main", other.parse().unwrap(), true, "test").unwrap();
    git.set_head("refs/heads/main").unwrap();
    let contents = ledger::read(&world.folder.path().join("history")).unwrap();
    let report = verify(&Repo::open(clone.path()).unwrap(), &contents).unwrap();
    assert_eq!(report.objections, [] as [&str; 0]);
    for word in ["refs/attempts", "promoted commits", "search/night is not here, nor", "samples.json", "lessons"] {
        assert!(report.notes.iter().any(|note| note.contains(word)), "{word}: {report:#?}");
    }
}

#[test]
fn numbers_in_a_row_are_written_as_ranges() {
    assert_eq!((ranges(&[1, 2, 3, 7, 9, 10]), ranges(&[])), ("1-3, 7, 9-10".to_owned(), String::new()));
}

/// A night of two attempts: the first banked, the second promoted with it beneath. `below` is the message and the file of
/// the banked attempt's commit on the run's branch.
fn stacked_night(record_is: impl Fn(&mut Record), below: impl Fn(String) -> (String, &'static str)) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let git = Repository::init(folder.path()).unwrap();
    let base = commit(&git, &[], "slow", "base");
    git.reference("refs/heads/main", base.parse().unwrap(), true, "test").unwrap();
    git.set_head("refs/heads/main").unwrap();
    let (schedule, rule) = (Schedule::new(7), Rule::default());
    let decide = |pairs: &[Pair], look| match confirm(&rule, pairs, look, &NOISE) {
        Confirming::Done(decision) => decision,
        Confirming::More(_) => panic!("this look decides"),
    };
    let small = |number: u32, parent: &str, file: &str| {
        let attempted = commit(&git, &[parent], file, "attempt");
        let mut record = Record::opened(number, parent, "it pays", Changed::Patch { name: format!("{number}.patch") });
        let turns: Vec<Turn> =
            [(0, 3), (1, 3)].iter().flat_map(|&(look, n)| schedule.confirm(number, look, &attempted, n)).collect();
        // 0.3 of 20 million: 1.5%, which takes the second look.
        (record.screen, record.confirm) = (pairs_at(&schedule.screen(3), 14_700_000), pairs_at(&turns, 14_700_000));
        record.outcome = decide(&record.confirm, 1).into();
        record.commit = Some(attempted);
        record
    };
    let first = small(1, &base, "small");
    assert_eq!(first.outcome.word(), "banked");
    let mut second = small(2, first.commit.as_deref().unwrap(), "faster");
    let own = second.outcome.decision().unwrap().clone();
    second.bank = vec![1];
    second.stack = pairs(&schedule.stack(2, 0, second.commit.as_deref().unwrap(), 3));
    let whole = decide(&second.stack, 0);
    second.whole = Some(whole.estimate);
    second.outcome = crate::judge::decide::stacked(&own, whole, 2).into();
    second.own = Some(Box::new(own));
    assert_eq!(second.outcome.word(), "promoted");
    let (name, mode) = ("parse".to_owned(), crate::judge::sample::Mode::User);
    let shift = crate::judge::profile::FunctionShift { name, mode, before: 400.0, after: 150.0 };
    let told = (story::promoted(&first, &[], "vm", "f", ""), story::promoted(&second, &[shift], "vm", "f", ""));
    assert!(!told.0.contains("Stack: ") && told.1.contains("Stack: +33.333%"), "{told:?}");
    assert!(told.1.contains("   -250.0  parse\n\nAttempt: 2\n"), "{}", told.1);
    record_is(&mut second);

    let (mut ledger, _) = Ledger::open(&folder.path().join("history")).unwrap();
    let run = || "night".to_owned();
    ledger
        .append(Event::RunStarted(Box::new(Start {
            run: run(),
            baseline: base.clone(),
            branch: "search/night".into(),
            definition: String::new(),
            definition_text: String::new(),
            harness: String::new(),
            meter: "vm".into(),
            fingerprint: "f".into(),
            seed: 7,
            noise: NOISE,
            rule: rule.clone(),
        })))
        .unwrap();
    let head = ledger.contents().head();
    for record in [&first, &second] {
        let (meter, fingerprint) = ("vm".into(), "f".into());
        ledger.append(Event::Outcome { run: run(), meter, fingerprint, record: Box::new(record.clone()) }).unwrap();
        Knowledge::new(&folder.path().join("knowledge")).learn("night", record, &[]).unwrap();
    }
    let on_line = |text: &str| text.replace("Ledger: ", &format!("Ledger: {head}"));
    let (message, file) = below(on_line(&told.0));
    let beneath = commit(&git, &[&base], file, &message);
    let promoted = commit(&git, &[&beneath], "faster", &on_line(&told.1));
    ledger
        .append(Event::Promoted { attempt: 2, run: run(), commit: promoted.clone(), branch: "search/night".into() })
        .unwrap();

    let repo = Repo::open(folder.path()).unwrap();
    for record in [&first, &second] {
        let attempted = repo.resolve(record.commit.as_deref().unwrap()).unwrap();
        repo.keep_attempt(u64::from(record.attempt), &attempted).unwrap();
    }
    repo.advance_search_branch("night", &repo.resolve(&promoted).unwrap()).unwrap();
    verify(&repo, &ledger::read(&folder.path().join("history")).unwrap()).unwrap()
}

#[test]
fn a_promoted_stack_is_decided_again_and_each_of_its_commits_is_held_against_its_attempt() {
    let sound = |message: String| (message, "small");
    let report = stacked_night(|_| {}, sound);
    assert!(report.objections.is_empty() && report.promoted == 1 && report.verdicts == 2, "{report:#?}");

    let objections = |record_is: fn(&mut Record), below: fn(String) -> (String, &'static str)| {
        stacked_night(record_is, below).objections.join("\n")
    };
    let weak = objections(|record| record.stack = pairs_at(&turns_of(&record.stack), 14_700_000), |m| (m, "small"));
    assert!(weak.contains("attempt 2: the ledger says promote, its pairs give"), "{weak}");
    let alone = |record: &mut Record| {
        record.outcome = Outcome::from(*record.own.take().unwrap());
        record.stack.clear();
    };
    let unmeasured = objections(alone, |message| (message, "small"));
    assert!(unmeasured.contains("the stack was not measured"), "{unmeasured}");
    let elsewhere = objections(|record| record.stack = pairs(&Schedule::new(8).stack(2, 0, "c", 3)), |m| (m, "small"));
    assert!(elsewhere.contains("its stack pairs are not on the seeds"), "{elsewhere}");
    let other = objections(|_| {}, |message| (message, "tampered"));
    assert!(other.contains("server.rs is not what attempt 1 measured"), "{other}");
    let renamed = objections(|_| {}, |message| (message.replace("Attempt: 1", "Attempt: 9"), "small"));
    assert!(renamed.contains("its trailer Attempt says \"9\""), "{renamed}");
}

fn turns_of(pairs: &[Pair]) -> Vec<Turn> {
    let order = crate::judge::schedule::Order::ChampionFirst;
    pairs.iter().map(|pair| Turn { seed: pair.champion.seed, order }).collect()
}

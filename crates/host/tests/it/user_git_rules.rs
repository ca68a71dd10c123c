//! What a repository says of scope, read as data and compared with what git itself says.
use std::collections::BTreeSet;
use std::fs;

use loop_host::checkpoint::user_git::{GitUser, IgnoreTexts, rules_of, tracked};

use crate::user_git::Repo;

#[test]
fn the_index_is_read_as_git_reads_it_in_each_version() {
    let repo = Repo::new();
    for number in 0..40 {
        repo.write(&format!("folder {}/a rather long name {number}/ü {number}", number % 4), "x");
    }
    repo.git(&["add", "-A"]);
    // The flag that only the third version can hold.
    repo.write("later", "");
    repo.git(&["add", "-N", "later"]);
    for version in ["2", "3", "4"] {
        repo.git(&["update-index", "--index-version", version]);
        let listed: BTreeSet<Vec<u8>> =
            repo.git(&["ls-files", "-z"]).split_terminator('\0').map(|p| p.as_bytes().to_vec()).collect();
        assert_eq!(tracked(&repo.work).unwrap(), listed.iter().cloned().collect::<Vec<_>>(), "version {version}");
        let below = repo.work.join("folder 1");
        let expected: Vec<Vec<u8>> =
            listed.iter().filter_map(|path| path.strip_prefix(b"folder 1/")).map(<[u8]>::to_vec).collect();
        assert_eq!(tracked(&below).unwrap(), expected, "seen from a folder of it");
    }
    repo.git(&["update-index", "--split-index"]);
    repo.write("one more", "");
    repo.git(&["add", "one more"]);
    assert_eq!(tracked(&repo.work).unwrap().len(), 42, "of a split index both parts");
    assert_eq!(tracked(tempfile::tempdir().unwrap().path()).unwrap(), Vec::<Vec<u8>>::new());
}

#[test]
fn rules_come_from_the_user_and_the_repository_but_not_from_its_configuration() {
    let repo = Repo::new();
    let home = tempfile::tempdir().unwrap();
    let user = GitUser { home: Some(home.path().to_owned()), config: None };
    let put = |name: &str, text: &str| {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    fs::write(repo.work.join(".git/info/exclude"), "excluded\n").unwrap();
    assert_eq!(rules_of(&repo.work, &user).texts, ["excluded\n"]);
    put(".config/git/ignore", "*.usual\n");
    assert_eq!(rules_of(&repo.work, &user).texts, ["*.usual\n", "excluded\n"]);
    put("mine", "*.mine\n");
    put(".config/git/config", "[core]\n\texcludesFile = /nowhere\n");
    put(".gitconfig", "[core]\n\texcludesFile = ~/mine\n");
    // What an agent could write: everything would be out of scope.
    put("all", "*\n");
    repo.git(&["config", "core.excludesFile", &home.path().join("all").display().to_string()]);
    assert_eq!(rules_of(&repo.work, &user).texts, ["*.mine\n", "excluded\n"]);
    assert_eq!(rules_of(&repo.work, &GitUser::default()).texts, ["excluded\n"]);
    let nothing = rules_of(home.path(), &user);
    assert_eq!(nothing, IgnoreTexts { is_repository: false, texts: vec!["*.mine\n".to_owned()], remarks: Vec::new() });
}

#[test]
fn a_part_of_a_repository_has_the_rules_of_the_folders_above() {
    let repo = Repo::new();
    repo.write(".gitignore", "/a/b/deep\n*.o\n/elsewhere\n!a/*/kept.o\nlogs/\n");
    repo.write("a/.gitignore", "b/*.tmp\n/x\n");
    repo.write("a/b/file", "");
    fs::write(repo.work.join(".git/info/exclude"), "a/b/excluded\n").unwrap();
    let found = rules_of(&repo.work.join("a/b"), &GitUser::default());
    assert!(found.is_repository);
    assert_eq!(found.texts, ["/excluded\n", "/deep\n*.o\n!/kept.o\nlogs/\n", "/*.tmp\n"]);
    // A folder that the repository ignores is none of its, unless it tracks something there.
    repo.write("logs/one", "");
    assert!(!rules_of(&repo.work.join("logs"), &GitUser::default()).is_repository);
    repo.git(&["add", "-f", "logs/one"]);
    assert!(rules_of(&repo.work.join("logs"), &GitUser::default()).is_repository);
}

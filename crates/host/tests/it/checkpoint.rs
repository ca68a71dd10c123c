//! Checkpoints: what is kept is what was there, and git itself can read it.
use std::path::Path;
use std::process::Command;

use loop_host::checkpoint::{Id, ObjectKind, Pack, PackWriter, TreeEntry, commit, tree};

/// A git of ours, with nobody's configuration.
fn git(folder: &Path, words: &[&str]) -> String {
    let ran = Command::new("git")
        .arg("--git-dir")
        .arg(folder)
        .args(words)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[test]
fn a_pack_of_ours_is_read_back_by_us_and_by_git() {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--bare", "--quiet"]);
    let packs = folder.path().join("objects/pack");
    let mut writer = PackWriter::begin(&packs).unwrap();
    let none = |_: &Id| false;
    let big: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let bodies: Vec<Vec<u8>> = vec![Vec::new(), b"x".to_vec(), b"hello\n".repeat(10_000), big];
    let mut ids: Vec<Id> = bodies.iter().map(|body| writer.add(ObjectKind::Blob, body, &none).unwrap()).collect();
    for body in &bodies {
        let length = u64::try_from(body.len()).unwrap();
        assert!(ids.contains(&writer.add_file(&mut body.as_slice(), length, &none).unwrap()), "the same is kept once");
        let cut = writer.add_file(&mut &body[..body.len() / 2], length + 1, &none).unwrap_err();
        assert_eq!(cut.kind(), std::io::ErrorKind::UnexpectedEof);
    }
    let entries = ids.iter().enumerate().map(|(number, id)| TreeEntry {
        mode: 0o100_644,
        name: format!("file {number}").into_bytes(),
        id: *id,
    });
    let root = writer.add(ObjectKind::Tree, &tree(entries.collect()), &none).unwrap();
    let head = writer.add(ObjectKind::Commit, &commit(root, None, 1_700_000_000, "the first"), &none).unwrap();
    ids.extend([root, head]);
    let path = writer.finish().unwrap().unwrap();
    let pack = Pack::open(&path).unwrap();
    assert_eq!(pack.len(), bodies.len() + 2, "each object is there once");
    for (id, body) in ids.iter().zip(&bodies) {
        let mut read = Vec::new();
        assert_eq!(pack.read(id, &mut read).unwrap(), Some(ObjectKind::Blob));
        assert_eq!(&read, body);
    }
    assert_eq!(pack.read(&Id::of(ObjectKind::Blob, b"nowhere"), &mut Vec::new()).unwrap(), None);
    git(folder.path(), &["update-ref", "refs/loop/one", &head.to_string()]);
    git(folder.path(), &["fsck", "--full", "--strict"]);
    git(folder.path(), &["verify-pack", &path.display().to_string()]);
    assert_eq!(git(folder.path(), &["cat-file", "blob", "refs/loop/one:file 2"]), "hello\n".repeat(10_000));
    assert_eq!(std::fs::read_dir(&packs).unwrap().count(), 2, "nothing half made is left");
}

#[test]
fn a_pack_that_was_given_up_leaves_nothing_and_a_damaged_one_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = PackWriter::begin(folder.path()).unwrap();
    writer.add(ObjectKind::Blob, b"given up", &|_| false).unwrap();
    drop(writer);
    assert!(PackWriter::begin(folder.path()).unwrap().finish().unwrap().is_none(), "an empty one is none");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let mut writer = PackWriter::begin(folder.path()).unwrap();
    let id = writer.add(ObjectKind::Blob, &b"some text ".repeat(1000), &|_| false).unwrap();
    let path = writer.finish().unwrap().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(&path, bytes).unwrap();
    assert!(Pack::open(&path).unwrap().read(&id, &mut Vec::new()).is_err());
}

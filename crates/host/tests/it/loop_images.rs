//! The images that other tests rely on: what was synced outlives a power cut, what was not is lost, and nothing of an
//! image outlives its test.
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use loop_testkit::{Format, LoopImage, wait_until};

fn is_mounted(path: &Path) -> bool {
    let list = fs::read_to_string("/proc/self/mountinfo").unwrap();
    list.lines().any(|line| line.split(' ').nth(4).is_some_and(|place| Path::new(place).starts_with(path)))
}

#[test]
fn what_was_synced_outlives_a_power_cut_and_what_was_not_does_not() {
    for format in [Format::Ext4, Format::Xfs, Format::Btrfs] {
        let image = LoopImage::new(format);
        let [kept, lost] = ["kept", "lost"].map(|name| image.path().join(name));
        let mut file = fs::File::create(&kept).unwrap();
        file.write_all(b"text").unwrap();
        file.sync_all().unwrap();
        drop(file);
        fs::File::open(image.path()).unwrap().sync_all().unwrap();
        fs::write(&lost, "text").unwrap();
        image.cut_power();
        image.remount();
        assert_eq!(fs::read_to_string(&kept).unwrap(), "text", "{format:?}");
        assert!(!lost.exists(), "{format:?}");
        image.remount();
        assert!(kept.exists());
    }
}

/// Makes an image, says where, and is killed with it.
#[test]
fn one_that_is_killed() {
    let Some(told) = std::env::var_os("IMAGE_TOLD") else { return };
    let image = LoopImage::new(Format::Ext4);
    fs::write(told, image.outside().as_os_str().as_encoded_bytes()).unwrap();
    let me = std::process::id().to_string();
    Command::new("kill").args(["-9", &me]).status().unwrap();
}

#[test]
fn nothing_of_an_image_outlives_a_test_that_is_killed() {
    let image = LoopImage::new(Format::Ext4);
    let outside = image.outside();
    assert!(is_mounted(&outside));
    drop(image);
    assert!(!is_mounted(&outside) && !outside.exists());
    let scratch = tempfile::tempdir().unwrap();
    let told = scratch.path().join("told");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "loop_images::one_that_is_killed"]).env("IMAGE_TOLD", &told);
    let ran = command.output().unwrap();
    assert_eq!(ran.status.signal(), Some(9));
    let outside = fs::read_to_string(told).unwrap();
    let outside = Path::new(&outside);
    wait_until("the image to be gone", || !is_mounted(outside) && !outside.exists());
}

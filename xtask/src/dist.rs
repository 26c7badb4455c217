//! The chore `cargo xtask dist`, which writes a release of the program to `target/dist`.
//!
//! | Files | Program | Packed by |
//! |---|---|---|
//! | `.deb`, `.rpm` | linked to the C library of the system, with GPUs | cargo-deb, cargo-generate-rpm |
//! | `.tar.gz` | static, without GPUs | tar |
//! | `.cdx.json` | list of all Rust packages that are compiled into the program | cargo-cyclonedx |
//! | `SHA256SUMS` | | sha256sum |
//!
//! All programs contain libpcap. The `.deb` names the files of all three, which otherwise differ only in the program.
//! Times come from the commit, and paths of the workspace and of cargo are remapped, so that builds can be reproduced.

mod licences;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::program::clean_cargo;

/// Options of the chore.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write only a .deb, from the program in target/debug, and compare its files with apps/srlg/service/files.txt.
    #[arg(long)]
    check: bool,
}

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// List of the files of the `.deb`, relative to the root of the workspace.
const FILES: &str = "apps/srlg/service/files.txt";

/// Features of the program in the packages, and of the static program. A static program cannot load the GPU driver.
const PACKAGED: [&str; 1] = ["--all-features"];
const STATIC: [&str; 1] = ["--features=kafka,live,network"];

pub(crate) fn run(arguments: &Arguments, root: &Path) -> Result<()> {
    let target = root.join("target");
    if arguments.check {
        return check(root, &target);
    }
    shell(
        root,
        "scripts/dist-tools.sh && { ls target/libpcap/{libpcap.a,*/LICENSE} >/dev/null 2>&1 || scripts/libpcap.sh; }",
    )?;
    let release = Release::start(root)?;
    // The compiler runs in the root of the workspace. An absolute path would change the symbols of the program.
    let object = "target/dist-build/names.o";
    shell(
        root,
        &format!("mkdir -p target/dist-build && cc -O2 -c xtask/src/dist/names.c -o {object}"),
    )?;
    let link = format!("-Clink-arg={object}");
    let portable = release.build("static", &STATIC, &["-Ctarget-feature=+crt-static", &link])?;
    release.build("packaged", &PACKAGED, &[])?;
    write_shared_files(root, &release.programs)?;
    let deb = release.pack_deb()?;
    let files = listed(&release.folder, &deb)?;
    release.pack_rpm(&files)?;
    release.pack_archive(&portable)?;
    release.write_sbom()?;
    fs::remove_dir_all(&release.tree)?;
    shell(
        &release.folder,
        "sha256sum -- * >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS && cat SHA256SUMS",
    )
}

struct Release<'a> {
    root: &'a Path,
    version: String,
    /// Time of the commit, in seconds since the Unix epoch, which is the time of all packed files.
    time: String,
    /// Folder for compiler outputs.
    builds: PathBuf,
    /// Folder of the program that cargo has built.
    programs: PathBuf,
    /// Folder of the release.
    folder: PathBuf,
    /// Unpacked `.deb`.
    tree: PathBuf,
}

impl<'a> Release<'a> {
    fn start(root: &'a Path) -> Result<Self> {
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        let manifest: toml::Table = manifest.parse()?;
        let version = manifest["workspace"]["package"]["version"].as_str();
        let time = std::env::var("SOURCE_DATE_EPOCH");
        let time = time.or_else(|_| output(root, "git log -1 --format=%ct"))?;
        let builds = root.join("target/dist-build");
        let folder = root.join("target/dist");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(Self {
            root,
            version: version.context("the workspace has no version")?.to_owned(),
            time,
            programs: builds.join("packaged").join(TARGET).join("release"),
            tree: builds.join("tree"),
            builds,
            folder,
        })
    }

    /// Builds the program in the folder `name`, and returns its path.
    fn build(&self, name: &str, features: &[&str], flags: &[&str]) -> Result<PathBuf> {
        let cargo_home = output(self.root, "echo ${CARGO_HOME:-$HOME/.cargo}")?;
        let folders = [(self.root.display().to_string(), "/srlg"), (cargo_home, "/cargo")];
        let mut rust = flags.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut c = Vec::new();
        for (folder, name) in folders {
            rust.push(format!("--remap-path-prefix={folder}={name}"));
            c.push(format!("-ffile-prefix-map={folder}={name}"));
        }
        let mut command = clean_cargo(self.root);
        command.args(["build", "--locked", "--release", "--package=srlg-cli", "--target", TARGET]);
        let folder = self.builds.join(name);
        command.args(features).arg("--target-dir").arg(&folder);
        command.env("LIBPCAP_LIBDIR", self.root.join("target/libpcap"));
        // The separator allows spaces in the names of folders.
        command.env("CFLAGS", c.join(" ")).env("CARGO_ENCODED_RUSTFLAGS", rust.join("\x1f"));
        finish(&mut command)?;
        Ok(folder.join(TARGET).join("release/srlg"))
    }

    /// Writes the `.deb` and unpacks it.
    fn pack_deb(&self) -> Result<PathBuf> {
        let deb = self.folder.join(format!("srlg_{}_amd64.deb", self.version));
        let mut command = deb_command(self.root, &deb);
        command.args(["--target", TARGET]).env("CARGO_TARGET_DIR", self.builds.join("packaged"));
        finish(command.env("SOURCE_DATE_EPOCH", &self.time))?;
        if self.tree.exists() {
            fs::remove_dir_all(&self.tree)?;
        }
        finish(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&self.tree))?;
        Ok(deb)
    }

    /// Writes the `.rpm` with the files of the unpacked `.deb`.
    fn pack_rpm(&self, files: &str) -> Result<()> {
        let mut assets = Vec::new();
        for file in files.lines() {
            let path = self.tree.join(file.trim_start_matches('/'));
            let mode = format!("{:o}", fs::metadata(&path)?.permissions().mode());
            let dest = file.replace("/vendor-completions/", "/site-functions/");
            let is_doc = file.starts_with("/usr/share/doc/");
            assets.push(format!(
                "{{ source = '{}', dest = '{dest}', mode = '{mode}', doc = {is_doc} }}",
                path.display()
            ));
        }
        let mut command = clean_cargo(self.root);
        command.args(["generate-rpm", "-p", "apps/srlg", "--target", TARGET]);
        // The tool of the rpm package, which may be missing, would find other dependencies.
        command.args(["--auto-req", "builtin", "--source-date", &self.time]);
        command.arg("-s").arg(format!("assets = [{}]", assets.join(", ")));
        command.arg("-o").arg(self.folder.join(format!("srlg-{}.x86_64.rpm", self.version)));
        finish(command.env("CARGO_TARGET_DIR", self.builds.join("packaged")))
    }

    /// Writes the archive with the files of the unpacked `.deb` and the program `portable`.
    fn pack_archive(&self, portable: &Path) -> Result<()> {
        let name = format!("srlg-{}-x86_64-linux", self.version);
        let documents = self.tree.join("usr/share/doc/srlg");
        fs::copy(portable, self.tree.join("usr/bin/srlg"))?;
        fs::copy(self.root.join("apps/srlg/service/INSTALL"), documents.join("INSTALL"))?;
        // The C library in the static program has this licence.
        fs::copy("/usr/share/common-licenses/LGPL-2.1", documents.join("LGPL-2.1"))?;
        // The archive has no folders, so unpacking it to /usr does not change the modes of folders.
        let pack = format!(
            "find usr -type f | LC_ALL=C sort | tar --files-from=- --mtime=@{} --owner=0 --group=0 --numeric-owner \
             --mode=u=rwX,go=rX --format=ustar --transform='s,^usr,{name},' -c | gzip -n9 >{}",
            self.time,
            self.folder.join(format!("{name}.tar.gz")).display()
        );
        shell(&self.tree, &pack)
    }

    fn write_sbom(&self) -> Result<()> {
        let written = self.root.join("apps/srlg/srlg.cdx.json");
        let mut command = clean_cargo(self.root);
        command.args(["cyclonedx", "--manifest-path", "apps/srlg/Cargo.toml", "--format", "json"]);
        command.args(["--target", TARGET, "--no-build-deps", "--override-filename", "srlg.cdx"]);
        finish(command.args(PACKAGED).env("SOURCE_DATE_EPOCH", &self.time))?;
        let text = fs::read_to_string(&written)?;
        // cargo-cyclonedx also writes a file for each other package of the workspace.
        shell(self.root, "find . -path ./target -prune -o -name srlg.cdx.json -exec rm {} +")?;
        // The number is random, and optional.
        let text = text.lines().filter(|line| !line.contains("\"serialNumber\""));
        let text = text.collect::<Vec<_>>().join("\n") + "\n";
        let text = text.replace(&self.root.display().to_string(), "/srlg");
        Ok(fs::write(self.folder.join(format!("srlg-{}.cdx.json", self.version)), text)?)
    }
}

/// Packs the program in `target/debug`, and compares the files of the package with [`FILES`].
fn check(root: &Path, target: &Path) -> Result<()> {
    write_shared_files(root, &target.join("debug"))?;
    let deb = target.join("check.deb");
    finish(deb_command(root, &deb).args(["--profile", "dev", "--fast", "-Z", "gz"]))?;
    let found = listed(root, &deb)?;
    fs::write(target.join("files.txt"), &found)?;
    shell(root, &format!("diff -u {FILES} target/files.txt")).with_context(|| {
        format!(
            "the files of the package differ from {FILES}; copy target/files.txt if they are right"
        )
    })
}

fn deb_command(root: &Path, deb: &Path) -> Command {
    let mut command = clean_cargo(root);
    command.args(["deb", "--package=srlg-cli", "--no-build", "--quiet", "--output"]).arg(deb);
    command
}

/// Returns the paths of the files in a package, one per line.
fn listed(folder: &Path, deb: &Path) -> Result<String> {
    let list = format!(
        "dpkg-deb --fsys-tarfile {} | tar -t | grep -v '/$' | sed 's/^\\.//' | LC_ALL=C sort",
        deb.display()
    );
    Ok(output(folder, &list)? + "\n")
}

/// Writes the files that the program generates, and the licences of its packages, to the folder `share` beside it.
fn write_shared_files(root: &Path, programs: &Path) -> Result<()> {
    let share = programs.join("share");
    fs::create_dir_all(&share)?;
    fs::write(share.join("THIRD-PARTY"), licences::of_packages(root)?)?;
    let program = programs.join("srlg");
    for (arguments, file) in [
        ("man", "srlg.1"),
        ("completions bash", "srlg.bash"),
        ("completions zsh", "srlg.zsh"),
        ("completions fish", "srlg.fish"),
    ] {
        let text = Command::new(&program).args(arguments.split(' ')).output();
        let text = text.with_context(|| format!("cannot run {}", program.display()))?;
        ensure!(text.status.success(), "srlg {arguments} failed");
        fs::write(share.join(file), text.stdout)?;
        fs::set_permissions(share.join(file), Permissions::from_mode(0o644))?;
    }
    shell(&share, "gzip -nf9 srlg.1")
}

/// Runs `script`, and returns its output without the last line break.
fn output(folder: &Path, script: &str) -> Result<String> {
    let output =
        Command::new("bash").args(["-euo", "pipefail", "-c", script]).current_dir(folder).output();
    let output = output.context("cannot run bash")?;
    ensure!(
        output.status.success(),
        "{script}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

fn shell(folder: &Path, script: &str) -> Result<()> {
    finish(Command::new("bash").args(["-euo", "pipefail", "-c", script]).current_dir(folder))
}

fn finish(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot run {name}"))?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// debian packs a binary with its unit, settings, manual pages and completions.
func (r release) debian(t target, binary, extras string) error {
	var contents files.Contents
	add := func(source, destination, kind string, mode fs.FileMode) {
		contents = append(contents, &files.Content{
			Source: source, Destination: destination, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.at},
		})
	}
	deploy := filepath.Join(r.root, "deploy")
	add(binary, "/usr/bin/ledge", files.TypeFile, 0o755)
	for _, unit := range []string{"ledge.service", "ledge-backup.service", "ledge-backup.timer"} {
		add(filepath.Join(deploy, "systemd", unit), "/lib/systemd/system/"+unit, files.TypeFile, 0o644)
	}
	add(filepath.Join(extras, "ledge.yaml"), "/etc/ledge/ledge.yaml", files.TypeConfigNoReplace, 0o644)
	add(filepath.Join(extras, "bash"), "/usr/share/bash-completion/completions/ledge", files.TypeFile, 0o644)
	add(filepath.Join(extras, "zsh"), "/usr/share/zsh/vendor-completions/_ledge", files.TypeFile, 0o644)
	add(filepath.Join(extras, "fish"), "/usr/share/fish/vendor_completions.d/ledge.fish", files.TypeFile, 0o644)
	add(filepath.Join(r.root, "LICENSE"), "/usr/share/doc/ledge/copyright", files.TypeFile, 0o644)
	pages, err := filepath.Glob(filepath.Join(extras, "man", "*.gz"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		add(page, "/usr/share/man/man1/"+filepath.Base(page), files.TypeFile, 0o644)
	}
	for _, example := range []string{"prometheus/prometheus.yml", "prometheus/alerts.yml", "grafana/ledge.json"} {
		add(filepath.Join(deploy, filepath.FromSlash(example)), "/usr/share/doc/ledge/examples/"+filepath.Base(example), files.TypeFile, 0o644)
	}
	documents, err := r.documents()
	if err != nil {
		return err
	}
	for _, name := range documents { // help texts name docs/…
		add(filepath.Join(r.root, name), "/usr/share/doc/ledge/"+filepath.ToSlash(name), files.TypeFile, 0o644)
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "ledge", Arch: t.debian, Platform: "linux", Version: r.debianVersion(), VersionSchema: "none", Section: "net", Priority: "optional",
		Maintainer: "The Ledge developers <ledge@localhost>", Description: "device plane of an IoT edge platform, with a ledger under it\nOne program with the REST services of EdgeX Foundry 2.x, ZeroMQ notifications and a management UI,\non an embedded NATS JetStream log.",
		License: "Apache-2.0", MTime: r.at,
		Overridables: nfpm.Overridables{
			Depends: []string{"adduser"}, Contents: contents,
			Scripts: nfpm.Scripts{PostInstall: "debian/postinst", PreRemove: "debian/prerm", PostRemove: "debian/postrm"},
		},
	})
	packager, err := nfpm.Get("deb")
	if err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return err
	}
	out, err := os.Create(r.file("ledge_" + info.Version + "_" + t.debian + ".deb"))
	if err != nil {
		return err
	}
	if err := packager.Package(info, out); err != nil {
		return err
	}
	return out.Close()
}

// documents returns the documents of the package, with the files of the tour, as paths in the repository.
func (r release) documents() (list []string, err error) {
	list = []string{"README.md", "CHANGELOG.md"}
	err = filepath.WalkDir(filepath.Join(r.root, "docs"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(r.root, path)
		list = append(list, name)
		return err
	})
	return list, err
}

// debianVersion makes each commit newer than the one before: one without a tag is before the first release, in the order of time.
func (r release) debianVersion() string {
	version := strings.TrimPrefix(r.version, "v")
	if strings.Contains(version, ".") {
		return strings.ReplaceAll(version, "-", "+") // a hyphen begins the revision of a package
	}
	return "0.0~" + r.at.Format("20060102150405") + "+" + strings.ReplaceAll(version, "-", "+")
}

// Command dist builds what is released: static binaries, Debian packages, an image for containers, a list of their parts in SPDX, and SHA-256
// sums. The same commit gives the same bytes. It is a module of its own, so that the program does not depend on what packs it.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// release is what is built.
type release struct {
	version string
	at      time.Time // of the commit; of all files in packages
	root    string    // of the repository
	out     string
}

// target is a platform.
type target struct{ os, arch, arm, debian string }

var targets = []target{
	{"linux", "amd64", "", "amd64"}, {"linux", "arm64", "", "arm64"}, {"linux", "arm", "7", "armhf"},
	{"darwin", "amd64", "", ""}, {"darwin", "arm64", "", ""}, {"freebsd", "amd64", "", ""}, {"windows", "amd64", "", ""},
}

// name is that of the platform in names of files.
func (t target) name() string {
	arch := t.arch
	if t.arm != "" {
		arch += "v" + t.arm
	}
	return t.os + "_" + arch
}

func main() {
	log.SetFlags(0)
	r := release{}
	flag.StringVar(&r.version, "version", "", "version, as git describes the commit")
	flag.StringVar(&r.root, "root", "../..", "folder of the repository")
	flag.StringVar(&r.out, "out", "../../dist", "folder to write to; it is emptied first")
	seconds := flag.Int64("at", 0, "time of the commit, in seconds since 1970")
	only := flag.String("only", "", "build for one platform, such as linux_amd64")
	flag.Parse()
	r.at = time.Unix(*seconds, 0).UTC()
	if err := r.build(*only); err != nil {
		log.Fatal(err)
	}
}

func (r release) build(only string) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	extras, err := r.extras()
	if err != nil {
		return err
	}
	defer os.RemoveAll(extras)
	for _, t := range targets {
		if only != "" && only != t.name() {
			continue
		}
		binary, err := r.compile(t)
		if err != nil {
			return err
		}
		if t.debian != "" {
			if err := r.debian(t, binary, extras); err != nil {
				return fmt.Errorf("debian package for %s: %w", t.name(), err)
			}
			if err := r.image(t, binary); err != nil {
				return fmt.Errorf("image for %s: %w", t.name(), err)
			}
		}
		if err := r.parts(t, binary); err != nil {
			return fmt.Errorf("parts of %s: %w", t.name(), err)
		}
	}
	return r.sums()
}

// file is the path of a released file.
func (r release) file(name string) string { return filepath.Join(r.out, name) }

// sums writes the SHA-256 of each file, for sha256sum -c.
func (r release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(r.file(e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(r.file("SHA256SUMS"), []byte(list.String()), 0o644)
}

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// compile builds the program for a platform, statically.
func (r release) compile(t target) (path string, err error) {
	name := "ledge_" + r.version + "_" + t.name()
	if t.os == "windows" {
		name += ".exe"
	}
	path, err = filepath.Abs(r.file(name))
	if err != nil {
		return "", err
	}
	return path, r.goBuild(path, "GOOS="+t.os, "GOARCH="+t.arch, "GOARM="+t.arm)
}

// goBuild is the build of the Makefile, without what differs from checkout to checkout.
func (r release) goBuild(path string, env ...string) error {
	c := exec.Command("go", "build", "-tags", "nomsgpack", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version="+r.version, "-o", path, "./cmd/ledge")
	c.Dir, c.Env, c.Stderr = r.root, append(append(os.Environ(), "CGO_ENABLED=0"), env...), os.Stderr
	return c.Run()
}

// extras writes the manual pages, the completions of shells and the file of settings, which the program makes itself, to a new folder.
func (r release) extras() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "ledge-dist-"); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "ledge")
	if err := r.goBuild(program); err != nil {
		return dir, err
	}
	run := func(file string, args ...string) error {
		out, err := exec.Command(program, args...).Output()
		if err != nil {
			return fmt.Errorf("ledge %s: %w", strings.Join(args, " "), err)
		}
		out = bytes.Replace(out, []byte("; set by --data-dir"), nil, 1)
		return os.WriteFile(filepath.Join(dir, file), out, 0o644)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if err := run(shell, "completion", shell); err != nil {
			return dir, err
		}
	}
	if err := run("ledge.yaml", "config", "--data-dir", "/var/lib/ledge"); err != nil {
		return dir, err
	}
	man := filepath.Join(dir, "man")
	if err := os.Mkdir(man, 0o755); err != nil {
		return dir, err
	}
	manual := exec.Command(program, "man", man)
	manual.Env = append(os.Environ(), fmt.Sprint("SOURCE_DATE_EPOCH=", r.at.Unix()))
	if out, err := manual.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("ledge man: %w: %s", err, out)
	}
	return dir, zipped(man)
}

func errFirst(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// zipped compresses the files of a folder, as Debian wants manual pages.
func zipped(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is one that exists
		if _, err := w.Write(text); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		return errFirst(os.WriteFile(path+".gz", b.Bytes(), 0o644), os.Remove(path))
	})
}

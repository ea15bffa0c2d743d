package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"
)

// newProfile makes a file in a folder for the profile of one more process.
func newProfile(dir string) (path string, err error) {
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// mergeProfiles writes the CPU profiles in a folder as one, without what is of this run and this machine only. Processes
// that were killed have left an empty file.
func mergeProfiles(dir, to string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var all []*profile.Profile
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		if len(data) == 0 {
			continue
		}
		p, err := profile.ParseData(data)
		if err != nil {
			return fmt.Errorf("CPU profile: %w", err)
		}
		all = append(all, p)
	}
	p, err := profile.Merge(all)
	if err != nil {
		return fmt.Errorf("merge CPU profiles: %w", err)
	}
	p.TimeNanos = 0
	for _, m := range p.Mapping {
		m.File, m.BuildID = "", ""
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	return errors.Join(p.Write(out), out.Close())
}

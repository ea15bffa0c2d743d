package main

import (
	"fmt"
	"os"
	"time"
)

// folders are the data folder and those in it that Ledge writes to, held open so that their identity cannot be used again.
// They tell when somebody has replaced, moved or removed one of them: what Ledge writes would be lost with the old folder, or go
// into another one.
type folders struct{ list []heldFolder }

type heldFolder struct {
	path string
	open *os.File
	info os.FileInfo
}

func holdFolders(paths ...string) (*folders, error) {
	h := &folders{}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			h.close()
			return nil, err
		}
		info, err := f.Stat()
		h.list = append(h.list, heldFolder{path, f, info})
		if err != nil {
			h.close()
			return nil, err
		}
	}
	return h, nil
}

func (h *folders) close() {
	for _, one := range h.list {
		one.open.Close()
	}
}

// check returns what is wrong. It takes a microsecond or two.
func (h *folders) check() error {
	for _, one := range h.list {
		info, err := os.Stat(one.path)
		if err == nil && !os.SameFile(info, one.info) {
			err = fmt.Errorf("%s is another folder now", one.path)
		}
		if err != nil {
			return exitError{exitFolder, fmt.Errorf("the data folder was replaced, moved or removed while Ledge ran: %w; what was acknowledged is in the old folder: put that back, then start Ledge again", err)}
		}
	}
	return nil
}

// lookAtFolders is how often the folders are looked at while nothing is recorded; each group of changes looks too.
const lookAtFolders = time.Second

// watchFolders ends the program when one of its folders is not its own any more.
func (p *Program) watchFolders(done <-chan struct{}) {
	tick := time.NewTicker(lookAtFolders)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if err := p.folders.check(); err != nil {
			p.fail(err)
			return
		}
	}
}

// closeUnlessReplaced closes the program in order. Where the folders are not its own any more it writes nothing: the process ends as by a
// kill, and the old folder is as after one.
func (p *Program) closeUnlessReplaced() {
	if err := p.folders.check(); err != nil {
		p.Logger.Error("nothing is closed", "error", err)
		return
	}
	p.Close()
}

package faults

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// call is one system call on a file as strace tells it; the times are seconds since the Unix epoch.
type call struct {
	at float64
	do func(*disk)
}

// disk is what a trace says of a folder: the files as processes see them, and what of them is durable. A file is
// durable up to where it was written when it was synced, and if its name and those of the folders above it are: a name
// is when its folder was synced after it was made.
type disk struct {
	root  string
	files map[string]*file
	names map[string]*file // durable
}

type file struct{ size, synced int64 }

// readTrace returns what `strace -ff -y -ttt -T` wrote into files of a prefix, in the order in which it took effect.
func readTrace(tb testing.TB, prefix string) []call {
	tb.Helper()
	threads, _ := filepath.Glob(prefix + ".*")
	var calls []call
	for _, thread := range threads {
		f, err := os.Open(thread)
		if err != nil {
			tb.Fatal(err)
		}
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if m := ledgetest.Line.FindStringSubmatch(s.Text()); m != nil {
				began, _ := strconv.ParseFloat(m[1], 64)
				took, _ := strconv.ParseFloat(m[5], 64)
				result, _ := strconv.ParseInt(m[4], 10, 64)
				calls = append(calls, callsOf(m[2], m[3], result, began, began+took)...)
			}
		}
	}
	slices.SortStableFunc(calls, func(a, b call) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
	return calls
}

// callsOf returns what a line means. A sync covers what was done before it began, once it has ended.
func callsOf(name, args string, result int64, began, ended float64) []call {
	var on string
	if m := ledgetest.OnFD.FindStringSubmatch(args); m != nil {
		on = m[1]
	}
	var paths []string
	for _, m := range ledgetest.InQuote.FindAllStringSubmatch(args, -1) {
		paths = append(paths, m[1])
	}
	last := args[strings.LastIndexByte(args, ' ')+1:]
	number, _ := strconv.ParseInt(last, 10, 64)
	switch {
	case name == "openat" && strings.Contains(args, "O_CREAT"), name == "mkdirat":
		return []call{{at: ended, do: func(d *disk) { d.create(paths[0]) }}}
	case strings.HasPrefix(name, "rename"):
		return []call{{at: ended, do: func(d *disk) { d.files[paths[1]] = d.files[paths[0]]; delete(d.files, paths[0]) }}}
	case name == "unlinkat":
		return []call{{at: ended, do: func(d *disk) { delete(d.files, paths[0]) }}}
	case name == "pwrite64":
		return []call{{at: ended, do: func(d *disk) { d.write(on, number+result) }}}
	case name == "write":
		return []call{{at: ended, do: func(d *disk) { d.write(on, d.size(on)+result) }}}
	case name == "fsync", name == "fdatasync":
		var commit func()
		return []call{
			{at: began, do: func(d *disk) { commit = d.sync(on) }},
			{at: ended, do: func(*disk) { commit() }},
		}
	}
	return nil
}

func (d *disk) create(path string) {
	if d.files[path] == nil {
		d.files[path] = &file{}
	}
}

func (d *disk) size(path string) int64 {
	if f := d.files[path]; f != nil {
		return f.size
	}
	return 0
}

func (d *disk) write(path string, end int64) {
	if f := d.files[path]; f != nil {
		f.size = max(f.size, end)
	}
}

// sync returns what makes durable what is there now.
func (d *disk) sync(path string) (commit func()) {
	f, size := d.files[path], d.size(path)
	inside := map[string]*file{}
	for name, f := range d.files {
		if filepath.Dir(name) == path {
			inside[name] = f
		}
	}
	return func() {
		if f != nil {
			f.synced = max(f.synced, size)
		}
		for name := range d.names {
			if filepath.Dir(name) == path {
				delete(d.names, name)
			}
		}
		for name, f := range inside {
			d.names[name] = f
		}
	}
}

// cut writes to a folder what is durable after the calls until a moment, with the contents from where they are now.
func (d *disk) cut(tb testing.TB, calls []call, until time.Time, to string) (files int) {
	tb.Helper()
	end := float64(until.UnixMicro()+1) / 1e6
	for _, c := range calls {
		if c.at <= end {
			c.do(d)
		}
	}
	ledgetest.CopyTree(tb, d.root, to, func(rel string) bool { return !ledgetest.IsState(rel) && d.durable(filepath.Join(d.root, rel)) })
	for path, f := range d.names {
		if rel, err := filepath.Rel(d.root, path); err == nil && !ledgetest.IsState(rel) {
			ledgetest.Alter(tb, filepath.Join(to, rel), func(b []byte) []byte { return b[:min(f.synced, int64(len(b)))] })
			files++
		}
	}
	return files
}

func (d *disk) durable(path string) bool {
	for ; path != d.root; path = filepath.Dir(path) {
		if d.names[path] == nil {
			return false
		}
	}
	return true
}

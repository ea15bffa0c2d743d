package projections

import (
	"fmt"
	"os"
	"runtime/debug"
)

// damage is what a read panics with when the file does not hold what was written: bbolt found a page that is none,
// the page lies behind the end of the file, or a value does not decode.
type damage struct{ err error }

func (d damage) Error() string { return "projection file is damaged: " + d.err.Error() }
func (d damage) Unwrap() error { return d.err }

// faults makes a panic of a fault in the mapped file, and a damage of any panic, until the function that it returns
// has run. Use: defer faults()().
func faults() func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		switch r := recover().(type) {
		case nil:
		case damage:
			panic(r)
		default:
			panic(damage{fmt.Errorf("%v", r)})
		}
	}
}

// guarded runs f and returns the damage that it met, if any. Other panics go on.
func guarded(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case damage:
			err = r
		default:
			panic(r)
		}
	}()
	return func() error {
		defer faults()()
		return f()
	}()
}

// must runs f. Where f finds the file damaged, it condemns it, runs the cleanups and panics with what f found.
func (d *DB) must(f func() error, cleanups ...func() error) {
	err := guarded(f)
	if err == nil {
		return
	}
	d.condemn(err)
	for _, c := range cleanups {
		_ = guarded(c)
	}
	panic(err)
}

// condemned is the file beside a projection that says: it is damaged, do not open it again, rebuild it.
func condemned(path string) string { return path + ".condemned" }

// condemn notes that the file is damaged, so that the next Open starts from an empty one.
func (d *DB) condemn(err error) {
	d.condemnOnce.Do(func() {
		d.log.Error("projection is damaged; it is rebuilt from the log at the next start", "file", d.path, "error", err)
		if err := os.WriteFile(condemned(d.path), []byte(err.Error()+"\n"), 0o600); err != nil {
			d.log.Error("projection cannot be condemned; delete it by hand", "file", d.path, "error", err)
		}
	})
}

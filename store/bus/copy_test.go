package bus_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ledge/store"
	"ledge/store/bus"
	"ledge/store/natsblock"
	"ledge/store/storetest"
)

const mib = 1 << 20

// TestCopyEqualsLog records events and readings, small and large, and restarts the bus between: each copy has all of its log.
func TestCopyEqualsLog(t *testing.T) {
	t.Parallel()
	n := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: 64 * mib})
	n.add("a", 50)
	for i := range 20 {
		storetest.MustSubmit(t, n.appenders[2], storetest.Post("cam-1", bytes.Repeat([]byte{byte(i)}, i*10_000)))
	}
	for round := range 2 {
		for _, l := range []*store.Log{n.store.Events(), n.store.Readings()} {
			if first := n.equal(l); first != 1 {
				t.Errorf("the copy of %s begins at %d", l.Name(), first)
			}
		}
		n.bus.Close()
		n.add(fmt.Sprint("round", round), 10)
		n.openBus()
	}
}

// TestCopyIsBounded holds that a copy keeps its bound, and that one which is made anew begins so that it fits.
func TestCopyIsBounded(t *testing.T) {
	t.Parallel()
	n := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: 4 * mib})
	for range 100 {
		storetest.MustSubmit(t, n.appenders[2], storetest.Post("cam-1", make([]byte, 200<<10)))
	}
	size := func() int64 {
		n.caughtUp()
		_, js := n.connect()
		s, err := js.Stream(t.Context(), store.ReadingsStream)
		if err != nil {
			t.Fatal(err)
		}
		return int64(s.CachedInfo().State.Bytes)
	}
	if first, bytes := n.equal(n.store.Readings()), size(); first < 50 || bytes > 4*mib {
		t.Errorf("from %d, %d bytes", first, bytes)
	}
	n.bus.Close()
	if err := os.RemoveAll(n.o.Dir); err != nil {
		t.Fatal(err)
	}
	n.openBus()
	if first, bytes := n.equal(n.store.Readings()), size(); first < 20 || bytes > 4*mib {
		t.Errorf("made anew: from %d, %d bytes", first, bytes)
	}
}

// TestReserveIsForTheLog holds that nothing is copied while the disk has no more than the reserve of the log.
func TestReserveIsForTheLog(t *testing.T) {
	t.Parallel()
	n := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: 64 * mib})
	n.caughtUp()
	n.bus.Close()
	n.add("a", 5)
	n.full.Store(true)
	n.openBus()
	n.connect() // it is running
	for asked, end := n.asked.Load(), time.Now().Add(patience); n.asked.Load() < asked+2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not look at the disk")
		}
	}
	if lag := n.bus.Stats()[0].Lag; lag != 5 {
		t.Errorf("%d events are not copied, want 5", lag)
	}
	n.full.Store(false)
	n.equal(n.store.Events())
}

// TestConsumerSurvivesRestart holds that a durable consumer goes on behind its last acknowledgement after a restart of the bus.
func TestConsumerSurvivesRestart(t *testing.T) {
	t.Parallel()
	n := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: 64 * mib})
	n.add("a", 10)
	n.caughtUp()
	take := func(count int) (first uint64) {
		_, js := n.connect()
		durable := jetstream.ConsumerConfig{Durable: "d", AckPolicy: jetstream.AckExplicitPolicy}
		c, err := js.CreateOrUpdateConsumer(t.Context(), store.EventsStream, durable)
		if err != nil {
			t.Fatal(err)
		}
		for i := range count {
			m, err := c.Next(jetstream.FetchMaxWait(patience))
			if err != nil {
				t.Fatal(err)
			}
			if meta, _ := m.Metadata(); i == 0 {
				first = meta.Sequence.Stream
			}
			if err := m.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return first
	}
	if first := take(4); first != 1 {
		t.Errorf("began at %d", first)
	}
	n.bus.Close()
	n.openBus()
	n.caughtUp()
	if first := take(6); first != 5 {
		t.Errorf("went on at %d, want 5", first)
	}
}

// TestUnsoundCopies alters the copy of the events, or the log behind it: the bus finds it at its start and fills the copy again.
// A copy that is only older than the log stays, with its consumers.
func TestUnsoundCopies(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]struct {
		change func(t *testing.T, n *node, stream string)
		kept   bool
	}{
		"behind the log":       {func(_ *testing.T, n *node, _ string) { n.add("more", 5) }, true},
		"no folder":            {func(t *testing.T, n *node, _ string) { mustRemove(t, n.o.Dir) }, false},
		"no configuration":     {func(t *testing.T, _ *node, stream string) { mustRemove(t, filepath.Join(stream, "meta.inf")) }, false},
		"a byte of a payload":  {func(t *testing.T, _ *node, stream string) { flipByte(t, stream, `"name":"a-3"`) }, false},
		"a byte of a header":   {func(t *testing.T, _ *node, stream string) { flipByte(t, stream, "ce-type") }, false},
		"cut off":              {func(t *testing.T, _ *node, stream string) { cutEnd(t, stream) }, true},
		"another past":         {func(t *testing.T, n *node, _ string) { replaceLog(t, n, 20) }, false},
		"ahead of the log":     {func(t *testing.T, n *node, _ string) { replaceLog(t, n, 5) }, false},
		"blocks of other logs": {func(t *testing.T, n *node, stream string) { swapBlocks(t, n, stream) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: 64 * mib})
			n.add("a", 10)
			n.caughtUp()
			_, js := n.connect()
			if _, err := js.CreateOrUpdateConsumer(t.Context(), store.EventsStream, jetstream.ConsumerConfig{Durable: "d"}); err != nil {
				t.Fatal(err)
			}
			n.bus.Close()
			alter.change(t, n, filepath.Join(n.o.Dir, "jetstream", "FEED", "streams", store.EventsStream))
			n.openBus()
			n.equal(n.store.Events())
			n.add("after", 3)
			n.equal(n.store.Events())
			_, js = n.connect()
			if _, err := js.Consumer(t.Context(), store.EventsStream, "d"); (err == nil) != alter.kept {
				t.Errorf("the consumer: %v, want it kept: %t", err, alter.kept)
			}
		})
	}
}

func mustRemove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// onlyBlock returns the path of the only block of a copy.
func onlyBlock(t *testing.T, stream string) string {
	t.Helper()
	files := natsblock.FilesOf(stream)
	all, err := files.List()
	if err != nil || len(all) != 1 {
		t.Fatalf("%s has the blocks %v, %v", stream, all, err)
	}
	return files.Path(all[0])
}

// flipByte alters one byte of the block where a text is.
func flipByte(t *testing.T, stream, text string) {
	t.Helper()
	path := onlyBlock(t, stream)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(b, []byte(text))
	if i < 0 {
		t.Fatalf("no %s in the copy", text)
	}
	b[i+1] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// cutEnd takes the last bytes from the first block, as a power cut does.
func cutEnd(t *testing.T, stream string) {
	t.Helper()
	path := onlyBlock(t, stream)
	st, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, st.Size()-20)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// replaceLog puts another log into the place of that which the copy has.
func replaceLog(t *testing.T, n *node, events int) {
	t.Helper()
	for _, a := range n.appenders {
		_ = a.Close()
	}
	_ = n.store.Close()
	mustRemove(t, filepath.Join(n.dir, "nats"))
	again := mustOpen(t, n.dir, bus.Options{Dir: t.TempDir()})
	again.add("other", events)
	again.bus.Close()
	n.store, n.appenders = again.store, again.appenders
}

// swapBlocks gives the copy of the events the block of another copy.
func swapBlocks(t *testing.T, n *node, stream string) {
	t.Helper()
	other := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: 64 * mib})
	other.add("a", 10)
	other.caughtUp()
	other.bus.Close()
	b, err := os.ReadFile(onlyBlock(t, strings.Replace(stream, n.o.Dir, other.o.Dir, 1)))
	if err == nil {
		err = os.WriteFile(onlyBlock(t, stream), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

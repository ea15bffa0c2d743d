package store_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"runtime"
	"strings"
	"testing"
	"time"

	"ledge/store"
	"ledge/store/storetest"
)

// TestChainByHand recomputes the chain as DESIGN.md describes it, from nothing but the stored headers and payload.
func TestChainByHand(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	a := storetest.MustAppender(t, s.Readings(), storetest.NewProjection())
	storetest.MustSubmit(t, a, storetest.Post("cam-1", []byte("one")), storetest.Post("cam-1", nil), storetest.Post("cam-2", []byte{0, 1}))
	prev := make([]byte, 32)
	for m, err := range s.Readings().ReadRaw(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		b := append([]byte("ledge.chain/1"), prev...)
		b = binary.BigEndian.AppendUint64(b, m.Seq)
		field := func(v string) {
			b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
			b = append(b, v...)
		}
		for _, name := range strings.Fields("ce-type ce-subject ce-id ce-source ce-time Ledge-Actor Ledge-Origin Ledge-Correlation-Id content-type") {
			field(m.Header.Get(name))
		}
		ext := strings.Fields("origin readingid size valuetype") // sorted
		b = binary.BigEndian.AppendUint32(b, uint32(len(ext)))
		for _, name := range ext {
			field(name)
			field(m.Header.Get("ce-" + name))
		}
		field(string(m.Data))
		sum := sha256.Sum256(b)
		if got, want := m.Header.Get("Ledge-Chain"), hex.EncodeToString(sum[:]); got != want {
			t.Errorf("sequence %d: %s, want %s", m.Seq, got, want)
		}
		prev = sum[:]
	}
}

// TestChainCoversEverything changes each header and the payload: each must change the hash.
func TestChainCoversEverything(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	a := storetest.MustAppender(t, s.Readings(), storetest.NewProjection())
	post := storetest.Post("cam-1", []byte("one"))
	post.Key, post.MostAnswers = storetest.AddOnce("", "key", 0).Key, 1
	storetest.MustSubmit(t, a, post)
	for m, err := range s.Readings().ReadRaw(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get("ce-idempotency") == "" {
			t.Error("the message has not its key")
		}
		whole := store.Chained([32]byte{}, 1, m.Header, m.Data)
		for i, f := range m.Header {
			if f.Name == "Ledge-Chain" || f.Name == "ce-specversion" { // the hash itself, and what reading holds to be "1.0"
				continue
			}
			m.Header[i].Value += "x"
			if store.Chained([32]byte{}, 1, m.Header, m.Data) == whole {
				t.Errorf("the chain does not cover %s", f.Name)
			}
			m.Header[i] = f
		}
		if store.Chained([32]byte{}, 2, m.Header, m.Data) == whole || store.Chained([32]byte{1}, 1, m.Header, m.Data) == whole ||
			store.Chained([32]byte{}, 1, m.Header, []byte("onf")) == whole {
			t.Error("the chain does not cover sequence, predecessor or payload")
		}
	}
}

func TestCloseLeavesNoGoroutines(t *testing.T) {
	o := options(t.TempDir())
	before := runtime.NumGoroutine()
	for range 2 {
		s := mustOpen(t, o)
		a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
		storetest.MustAdd(t, a, "g", 1)
		for range s.Events().Read(t.Context(), 0, 0) {
			break // a reader that stops early
		}
		_ = a.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		mustRemove(t, o.Dir+"/jetstream")
		mustRemove(t, o.Dir+"/LEDGE_EVENTS.manifest")
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

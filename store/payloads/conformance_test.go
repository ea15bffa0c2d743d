package payloads_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"ledge/store/payloads"
	"ledge/store/payloads/payloadstest"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestFiles(t *testing.T) {
	payloadstest.Run(t, func(tb testing.TB) payloadstest.Store {
		dir := tb.TempDir()
		f, err := payloads.Open(dir, payloads.Options{})
		if err != nil {
			tb.Fatal(err)
		}
		return payloadstest.Store{Payloads: f, Left: func(tb testing.TB) int {
			list, err := os.ReadDir(dir)
			if err != nil {
				tb.Fatal(err)
			}
			return len(list)
		}}
	})
}

// mustJetStream returns a connection to a NATS server of its own.
func mustJetStream(tb testing.TB) jetstream.JetStream {
	tb.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: tb.TempDir(), NoSigs: true})
	if err != nil {
		tb.Fatal(err)
	}
	s.Start()
	tb.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		tb.Fatal("the NATS server is not ready")
	}
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		tb.Fatal(err)
	}
	return js
}

func messages(tb testing.TB, js jetstream.JetStream, bucket string) int {
	tb.Helper()
	s, err := js.Stream(tb.Context(), "OBJ_"+bucket)
	if err != nil {
		tb.Fatal(err)
	}
	return int(s.CachedInfo().State.Msgs)
}

func TestObjects(t *testing.T) {
	js, n := mustJetStream(t), 0
	payloadstest.Run(t, func(tb testing.TB) payloadstest.Store {
		n++ // a new name for each: the server removes what a deleted one had in its own time
		bucket := fmt.Sprint("bodies-", n)
		s, err := payloads.OpenObjects(tb.Context(), js, payloads.ObjectOptions{Bucket: bucket, AbandonedAfter: time.Hour})
		if err != nil {
			tb.Fatal(err)
		}
		return payloadstest.Store{Payloads: s, Left: func(tb testing.TB) int { return messages(tb, js, bucket) }}
	})
}

// What a process that died has left of its uploads is collected when it is old, and not before.
func TestAbandonedUploads(t *testing.T) {
	js := mustJetStream(t)
	for _, test := range []struct {
		after time.Duration
		left  int
	}{{time.Hour, 3}, {0, 0}} {
		s, err := payloads.OpenObjects(t.Context(), js, payloads.ObjectOptions{Bucket: "bodies", AbandonedAfter: test.after})
		if err != nil {
			t.Fatal(err)
		}
		if test.left > 0 {
			objects, err := js.ObjectStore(t.Context(), "bodies")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := objects.PutBytes(t.Context(), "incoming-1", []byte("whole, without its name")); err != nil {
				t.Fatal(err)
			}
			if _, err := js.Publish(t.Context(), "$O.bodies.C.half", []byte("half")); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := s.Collect(t.Context(), func(string) (bool, error) { return false, nil }); n != 0 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
		if got := messages(t, js, "bodies"); got != test.left {
			t.Errorf("after %v: %d messages left, want %d", test.after, got, test.left)
		}
	}
}

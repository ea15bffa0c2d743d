package natsblock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// mustFill has a server of its own store messages, remove two of them, and stop. It returns the stream's folder and the messages by sequence,
// nil for a removed one.
func mustFill(t testing.TB) (dir string, sent map[uint64]*nats.Msg) {
	t.Helper()
	root := t.TempDir()
	s, err := server.NewServer(&server.Options{JetStream: true, StoreDir: root, DontListen: true, NoSigs: true, MaxPayload: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	c, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"ledge.>"}, AllowDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	sent = map[uint64]*nats.Msg{}
	for i := range 60 {
		m := &nats.Msg{Subject: fmt.Sprint("ledge.event.", i%7), Data: bytes.Repeat([]byte{byte(i)}, i*i*200)}
		if i%3 > 0 {
			m.Header = nats.Header{"Ledge-Actor": {fmt.Sprint("anna-", i)}, "Empty": {""}}
		}
		ack, err := js.PublishMsg(ctx, m)
		if err != nil {
			t.Fatal(err)
		}
		sent[ack.Sequence] = m
	}
	for seq, remove := range map[uint64]func(context.Context, uint64) error{3: stream.DeleteMsg, 5: stream.SecureDeleteMsg} {
		if err := remove(ctx, seq); err != nil {
			t.Fatal(err)
		}
		sent[seq] = nil
	}
	return filepath.Join(root, "jetstream", server.DEFAULT_GLOBAL_ACCOUNT, "streams", "S"), sent
}

// TestConformance holds that a scan finds what the server that is built in has stored, byte for byte, and that Ledge writes the same record.
func TestConformance(t *testing.T) {
	dir, sent := mustFill(t)
	files := FilesOf(dir)
	all, err := files.List()
	if err != nil || len(all) < 2 {
		t.Fatalf("%d blocks, %v", len(all), err)
	}
	found, tombstones := 0, []uint64{}
	for _, chunk := range []int{100, 64 << 10, MaxBlock} {
		found, tombstones = 0, tombstones[:0]
		for _, n := range all {
			for r, err := range (&Scan{Files: files, Block: n, Prefix: "ledge.", Chunk: chunk}).Records() {
				switch {
				case err != nil:
					t.Fatalf("chunks of %d: %v", chunk, err)
				case r.IsTombstone():
					tombstones = append(tombstones, r.Seq())
				case r.IsMessage() && r.Seq() != 3: // the server only notes that one is removed
					found++
					mustBe(t, r, sent[r.Seq()], ChecksumOf("S", n))
				}
			}
		}
		if found != len(sent)-2 {
			t.Errorf("chunks of %d: found %d messages, want %d", chunk, found, len(sent)-2)
		}
	}
	if !slices.Contains(tombstones, 3) {
		t.Errorf("tombstones of %v, want one of 3", tombstones)
	}
	text, err := os.ReadFile(filepath.Join(files.Dir, "index.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode("S", text); !errors.Is(err, ErrIndex) { // of a stream with removed messages
		t.Errorf("index: %v", err)
	}
	inf, _ := os.ReadFile(filepath.Join(dir, server.JetStreamMetaFile))
	sum, _ := os.ReadFile(filepath.Join(dir, server.JetStreamMetaFileSum))
	if c, _, err := DecodeMeta("S", inf, sum); err != nil || c.Name != "S" {
		t.Errorf("description: %+v, %v", c, err)
	}
}

func mustBe(t *testing.T, r Record, want *nats.Msg, sum Checksum) {
	t.Helper()
	subject, headers, data := r.Parts()
	if want == nil || string(subject) != want.Subject || !bytes.Equal(data, want.Data) || (headers != nil) != (want.Header != nil) {
		t.Fatalf("record of %d: subject %s, headers %q, %d bytes", r.Seq(), subject, headers, len(data))
	}
	if headers != nil {
		if h, err := nats.DecodeHeadersMsg(headers); err != nil || h.Get("Ledge-Actor") != want.Header.Get("Ledge-Actor") {
			t.Errorf("record of %d: headers %q, %v", r.Seq(), headers, err)
		}
	}
	again := Encode(r.Seq(), r.Nanos(), string(subject), headers, data)
	if sum.Seal(again); !bytes.Equal(again, r.Raw) {
		t.Errorf("record of %d: Ledge writes another one", r.Seq())
	}
}

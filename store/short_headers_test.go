package store_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"ledge/domain"
	"ledge/projections"
	"ledge/store"
	"ledge/store/storetest"
)

// device is a device as EdgeX's examples have it, with so many labels and protocols.
func device(name string, labels int) domain.Device {
	d := domain.Device{
		ID: uuid.NewString(), Name: name, Description: "The camera at the north proxy", AdminState: "UNLOCKED", OperatingState: "UP", ServiceName: "svc",
		ProfileName: "profile", Protocols: map[string]map[string]string{"http": {"host": "10.0.0.7", "port": "80"}}, Created: 1760000000000, Modified: 1760000000000,
	}
	for i := range labels {
		d.Labels = append(d.Labels, fmt.Sprintf("label-%06d", i))
		d.Protocols[fmt.Sprintf("protocol-%06d", i)] = map[string]string{"address": "10.0.0.7", "port": "80"}
	}
	return d
}

// request is a command as a client sends it.
func request(c domain.Command, correlation string) domain.Request {
	id := uuid.Must(uuid.NewV7()).String()
	if correlation == "" {
		correlation = id
	}
	return domain.Request{Stamp: domain.Stamp{EventID: id, At: time.Now(), Actor: "anonymous@127.0.0.1", Origin: "127.0.0.1:54321", CorrelationID: correlation}, Command: c}
}

// onboard opens a log of changes with the state that Decide needs, a service, a profile and devices.
func onboard(t *testing.T, dir string, devices ...domain.Device) (*store.Store, *store.Appender) {
	t.Helper()
	s := mustOpen(t, options(dir))
	db, err := projections.Open(projections.Options{Path: filepath.Join(dir, "state.db"), Tables: projections.Events, Logger: options(dir).Logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = db.Close(), s.Close() })
	a := storetest.MustAppender(t, s.Events(), db)
	storetest.MustSubmit(t, a, request(domain.AddService{Service: domain.DeviceService{ID: uuid.NewString(), Name: "svc", BaseAddress: "http://localhost:1", AdminState: "UNLOCKED"}}, ""),
		request(domain.AddProfile{Profile: domain.Profile{ID: uuid.NewString(), Name: "profile"}}, ""))
	for _, d := range devices {
		storetest.MustSubmit(t, a, request(domain.AddDevice{Device: d}, ""))
	}
	return s, a
}

// TestSmallChangesAreSmall measures on the disk what a change of one small field takes, whole, and what many changes of a large
// device take.
func TestSmallChangesAreSmall(t *testing.T) {
	t.Parallel()
	const most = 500 // bytes
	dir := t.TempDir()
	_, a := onboard(t, dir, device("cam-1", 2), device("large", 10_000))
	patch := domain.PatchOf[domain.Device]
	now, lock, unlock := time.Now().UnixMilli(), domain.StateLocked, domain.StateUnlocked
	correlation := uuid.NewString()
	for _, c := range []struct {
		what, correlation string
		patch             domain.Patch[domain.Device]
	}{
		{"adminState", "", patch("name", "cam-1", "adminState", lock)},
		{"adminState with a correlation id", correlation, patch("name", "cam-1", "adminState", unlock)},
		{"labels", "", patch("name", "cam-1", "labels", []string{"label-000000", "proxy"})},
		{"lastReported", "", patch("name", "cam-1", "lastReported", time.Now().UnixNano())},
		{"adminState of a large device", "", patch("name", "large", "adminState", lock)},
	} {
		before := blockBytes(t, dir)
		storetest.MustSubmit(t, a, request(domain.UpdateDevice{Patch: c.patch, At: now}, c.correlation))
		got := blockBytes(t, dir) - before
		t.Logf("%s: %d bytes", c.what, got)
		if got > most {
			t.Errorf("%s: %d bytes on the disk, want at most %d", c.what, got, most)
		}
	}
	before := blockBytes(t, dir)
	var requests []domain.Request
	for i := range 100 {
		labels := slices.Clone(device("large", 10_000).Labels)
		labels[i*50] = "other"
		toggle := patch("name", "large", "adminState", []string{unlock, lock}[i%2])
		requests = append(requests, request(domain.UpdateDevice{Patch: toggle, At: now}, ""))
		if i%10 == 0 {
			requests = append(requests, request(domain.UpdateDevice{Patch: patch("name", "large", "labels", labels), At: now}, ""))
		}
	}
	storetest.MustSubmit(t, a, requests...)
	if got := blockBytes(t, dir) - before; got > 200*most {
		t.Errorf("110 changes of a large device: %d bytes", got)
	}
}

// blockBytes is the size of the blocks of the log of changes.
func blockBytes(t *testing.T, dir string) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "LEDGE_EVENTS", "msgs", "*.blk"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no blocks: %v", err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// TestShortChainByHand recomputes the chain of the log of changes as DESIGN.md describes it, from the messages as they stand on the log:
// of messages in the short form, and of such as earlier versions wrote.
func TestShortChainByHand(t *testing.T) {
	o := options(t.TempDir())
	s := mustOpen(t, o)
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	foreign := request(storetest.Add("d").Command, "c-1")
	foreign.EventID = "AAAAAAAAAAAAAAAAAAAAAA" // which could be taken for a UUID in the short form
	storetest.MustSubmit(t, a, request(storetest.Add("a").Command, ""), request(storetest.Add("b").Command, uuid.NewString()), storetest.Add("c"), foreign)
	want := []domain.Stamp{ // of actors and origins
		{Actor: "anonymous@127.0.0.1", Origin: "127.0.0.1:54321"}, {Actor: "anonymous@127.0.0.1", Origin: "127.0.0.1:54321"}, {Actor: "test", Origin: "internal"},
		{Actor: "anonymous@127.0.0.1", Origin: "127.0.0.1:54321"},
		{Actor: "anonymous", Origin: "127.0.0.1:1"}, // as in earlier versions
		{Actor: "anonymous@2001:db8::1", Origin: "[2001:db8::1]:1"},
		{Actor: "anonymous@fe80::1%eth0", Origin: "[fe80::1%eth0]:1"},
		{Actor: "anonymous@192.0.2.1", Origin: "127.0.0.1:1"}, // elsewhere than the origin
		{Actor: "anonymous@", Origin: ":1"},
		{Actor: "anonymous", Origin: "@127.0.0.1:1"}, // which could be taken for a marked one: written long
	}
	correlations := []string{"c-1", "@c-1", "@AAAAAAAAAAAAAAAAAAAAAA"} // the last could be taken for a short one: written long
	for i, w := range want[4:] {
		r := request(storetest.Add(fmt.Sprintf("e%d", i)).Command, correlations[min(i, 1)])
		if i == len(want[4:])-2 {
			r.CorrelationID = correlations[2]
		}
		r.Actor, r.Origin = w.Actor, w.Origin
		storetest.MustSubmit(t, a, r)
	}
	var got []domain.Stamp
	for r, err := range s.Events().Read(t.Context(), 1, uint64(len(want))) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, domain.Stamp{Actor: r.Actor, Origin: r.Origin})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	long := []int{3, len(want) - 2, len(want) - 1}
	prev := make([]byte, 32)
	var messages []store.Message
	for group, err := range s.Events().Messages(t.Context(), 1, uint64(len(want))) {
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, group...)
	}
	for seq, m := range messages {
		sum := byHand(t, prev, uint64(seq+1), m)
		chain := m.Header.Get("Ledge-Chain")
		short := len(chain) == 43
		if short == slices.Contains(long, seq) {
			t.Errorf("%d: chain %s, short %t", seq+1, chain, short)
		}
		if want := map[bool]string{true: base64.RawURLEncoding.EncodeToString(sum), false: hex.EncodeToString(sum)}[short]; chain != want {
			t.Errorf("sequence %d: %s, want %s", seq+1, chain, want)
		}
		prev = sum
	}
	if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count != uint64(len(want)) {
		t.Errorf("got %+v, %v", r, err)
	}
}

func byHand(t *testing.T, prev []byte, seq uint64, m store.Message) []byte {
	t.Helper()
	h := func(name string) string {
		v := m.Header.Get(name)
		if len(m.Header.Get("Ledge-Chain")) == 64 {
			return v
		}
		switch name {
		case "ce-subject":
			return strings.ReplaceAll(strings.SplitN(m.Subject, ".", 3)[2], ".", "/")
		case "content-type":
			return map[bool]string{true: "application/json", false: v}[v == ""]
		case "Ledge-Actor":
			if host, _, marked := strings.Cut(strings.TrimPrefix(m.Header.Get("Ledge-Origin"), "@"), "]"); v == "" && strings.HasPrefix(m.Header.Get("Ledge-Origin"), "@") {
				if !marked {
					host = host[:strings.LastIndexByte(host, ':')]
				}
				return "anonymous@" + strings.TrimPrefix(host, "[")
			}
			return map[bool]string{true: "anonymous", false: v}[v == ""]
		case "Ledge-Origin":
			return strings.TrimPrefix(v, "@")
		case "Ledge-Correlation-Id":
			if id, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(v, "@")); err == nil && len(id) == 16 {
				return uuid.UUID(id).String()
			}
		}
		if id, err := base64.RawURLEncoding.DecodeString(m.Header.Get("ce-id")); name == "ce-id" || name == "Ledge-Correlation-Id" && v == "" {
			if err != nil {
				t.Fatal(err)
			}
			return uuid.UUID(id).String()
		}
		return v
	}
	b := append([]byte("ledge.chain/1"), prev...)
	b = binary.BigEndian.AppendUint64(b, seq)
	field := func(v string) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
		b = append(b, v...)
	}
	for _, name := range strings.Fields("ce-type ce-subject ce-id ce-source ce-time Ledge-Actor Ledge-Origin Ledge-Correlation-Id content-type") {
		field(h(name))
	}
	b = binary.BigEndian.AppendUint32(b, 0)
	field(string(m.Data))
	sum := sha256.Sum256(b)
	return sum[:]
}

package devicerest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

func zipped(tb testing.TB, text string) string {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func encoded(s handlerstest.Scenario, coding ...string) handlerstest.Scenario {
	for _, one := range coding {
		s.Header = append(s.Header, "Content-Encoding: "+one)
	}
	return s
}

func TestEncodedBodies(t *testing.T) {
	h, log, payloads := mustDeviceREST(t)
	most, long := strings.Repeat("x", resourceBytes), strings.Repeat("y", inlineBytes+1)
	bomb := zipped(t, strings.Repeat("\x00", 1000*resourceBytes))
	noise := func(n int) string { // that gzip makes longer
		b := make([]byte, 0, n+sha256.Size)
		for sum := sha256.Sum256(nil); len(b) < n; sum = sha256.Sum256(sum[:]) {
			b = append(b, sum[:]...)
		}
		return string(b[:n])
	}
	if n := len(zipped(t, noise(resourceBytes))); n <= resourceBytes {
		t.Fatalf("the noise takes %d bytes", n)
	}
	const unsupported = "; send the body as it is, or with gzip once\n"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		encoded(post("gzip", resource+"vInt32", "", zipped(t, "46"), 200, ""), "gzip"),
		encoded(post("the old name, in capitals", resource+"vInt32", "", zipped(t, "46"), 200, ""), "X-GZIP"),
		encoded(post("several members", resource+"vInt32", "", zipped(t, "4")+zipped(t, "6"), 200, ""), "gzip"),
		encoded(post("identity", resource+"vInt32", "", "46", 200, ""), "identity"),
		encoded(post("identity and gzip", resource+"vInt32", "", zipped(t, "46"), 200, ""), "identity, gzip"),
		encoded(post("long", resource+"jpeg", "image/jpeg", zipped(t, long), 200, ""), "gzip"),
		encoded(post("as long as may be", resource+"vBinary", "", zipped(t, most), 200, ""), "gzip"),
		encoded(post("as long as may be, and longer when zipped", resource+"vBinary", "", zipped(t, noise(resourceBytes)), 200, ""), "gzip"),
		encoded(post("long object", resource+"vObject", "application/json", zipped(t, `{"a":"`+long+`"}`), 200, ""), "gzip"),
		encoded(post("over the limit when it is out", resource+"vBinary", "", zipped(t, most+"x"), 413, "the body is longer than 20000 bytes, which is the limit; send less or raise the attribute maxBodyBytes of the resource in its profile\n"), "gzip"),
		encoded(post("a bomb", resource+"vBinary", "", bomb[:200], 413, ""), "gzip"),
		encoded(post("much for nothing", resource+"vBinary", "", strings.Repeat(zipped(t, ""), resourceBytes), 413, ""), "gzip"),
		encoded(post("no gzip", resource+"vBinary", "", "abc", 400, ""), "gzip"),
		encoded(post("nothing", resource+"vBinary", "", "", 400, ""), "gzip"),
		encoded(post("empty inside", resource+"vBinary", "", zipped(t, ""), 400, ""), "gzip"),
		encoded(post("cut short", resource+"vBinary", "", zipped(t, most)[:30], 400, ""), "gzip"),
		encoded(post("cut short after what is inline", resource+"vBinary", "", zipped(t, noise(resourceBytes))[:resourceBytes/2], 400, ""), "gzip"),
		encoded(post("something after it", resource+"vBinary", "", zipped(t, "46")+"x", 400, ""), "gzip"),
		encoded(post("deflate", resource+"vInt32", "", "46", 415, `Content-Encoding: "deflate" is not supported`+unsupported), "deflate"),
		encoded(post("twice", resource+"vInt32", "", zipped(t, zipped(t, "46")), 415, `Content-Encoding: "gzip, gzip" is not supported`+unsupported), "gzip, gzip"),
		encoded(post("twice, in two lines", resource+"vInt32", "", zipped(t, "46"), 415, ""), "gzip", "br"),
	})
	if n := len(payloads.kept); n != 4 || string(payloads.kept[0]) != long || string(payloads.kept[1]) != most {
		t.Fatalf("%d payloads", n)
	}
	events := log.Recorded()
	got := events[len(events)-4].Event.(domain.ReadingPosted)
	sum := sha256.Sum256([]byte(long))
	if got.Digest != hex.EncodeToString(sum[:]) || got.Size != inlineBytes+1 {
		t.Errorf("got %+v", got)
	}
}

// The answer of 415 says what would be understood.
func TestSupportedEncodings(t *testing.T) {
	h, _, _ := mustDeviceREST(t)
	r := httptest.NewRequest("POST", resource+"vInt32", strings.NewReader("46"))
	r.Header.Set("Content-Encoding", "br")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if got := w.Header().Get("Accept-Encoding"); w.Code != 415 || got != "gzip, identity" {
		t.Errorf("got %d, %q", w.Code, got)
	}
}

// With a key, a body is the same however it is compressed.
func TestPostOnceEncoded(t *testing.T) {
	h, log, _ := mustDeviceREST(t)
	before := len(log.Recorded())
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		keyed(encoded(post("gzip", resource+"vInt32", "", zipped(t, "46"), 200, ""), "gzip"), "k-1", 1),
		keyed(post("as it is", resource+"vInt32", "", "46", 200, ""), "k-1", 1),
	})
	if n := len(log.Recorded()) - before; n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

func TestResourceLimits(t *testing.T) {
	h, log, _ := mustDeviceREST(t)
	limit := func(name string, value any) domain.DeviceResource {
		return domain.DeviceResource{Name: name, Attributes: map[string]any{"maxBodyBytes": value}, Properties: domain.ResourceProperties{ValueType: "Binary", ReadWrite: "R"}}
	}
	log.Given(t,
		domain.AddProfile{Profile: domain.Profile{ID: handlerstest.ID(921), Name: "limited", DeviceResources: []domain.DeviceResource{
			limit("less", 10.0), limit("more", "30KiB"), limit("zero", 0.0), limit("half", 1.5), limit("word", "many"), limit("list", []any{1.0}), limit("null", nil),
		}}},
		domain.AddDevice{Device: domain.Device{
			ID: handlerstest.ID(922), Name: "cam-9", AdminState: "UNLOCKED", OperatingState: "UP", ServiceName: "device-rest", ProfileName: "limited",
			ProtocolName: "rest", Protocols: map[string]map[string]string{"other": {}},
		}},
	)
	const on = "/api/v2/resource/cam-9/"
	const over = " bytes, which is the limit; send less or raise the attribute maxBodyBytes of the resource in its profile\n"
	const cure = ` in the profile, which is not a size above 0; write it there as 10485760 or "10MiB"` + "\n"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		post("less, at the limit", on+"less", "", "0123456789", 200, ""),
		post("less, over it", on+"less", "", "0123456789x", 413, "the body is longer than 10"+over),
		post("more, at the limit", on+"more", "", strings.Repeat("x", 30<<10), 200, ""),
		post("more, over it", on+"more", "", strings.Repeat("x", 30<<10+1), 413, "the body is longer than 30720"+over),
		encoded(post("less, over it when it is out", on+"less", "", zipped(t, strings.Repeat("x", 11)), 413, ""), "gzip"),
		post("zero", on+"zero", "", "x", 400, `resource "zero": its attribute maxBodyBytes is "0"`+cure),
		post("no whole number", on+"half", "", "x", 400, `resource "half": its attribute maxBodyBytes is "1.5"`+cure),
		post("a word", on+"word", "", "x", 400, `resource "word": its attribute maxBodyBytes is "many"`+cure),
		post("a list", on+"list", "", "x", 400, ""),
		post("null", on+"null", "", "x", 400, ""),
	})
}

// Payloads are released when it is certain whether a reading refers to them.
func TestPayloadsAreReleased(t *testing.T) {
	h, log, payloads := mustDeviceREST(t)
	long := func(c string) string { return strings.Repeat(c, inlineBytes+1) }
	name := func(c string) string {
		sum := sha256.Sum256([]byte(long(c)))
		return hex.EncodeToString(sum[:])
	}
	postLong := func(c string, fail error, status int) {
		t.Helper()
		log.Fail = fail
		if w := handlerstest.Serve(h, "POST", resource+"vBinary", long(c)); w.Code != status {
			t.Fatalf("%s: got %d %s", c, w.Code, w.Body)
		}
	}
	var want []string
	check := func(more ...string) {
		t.Helper()
		if want = append(want, more...); strings.Join(payloads.released, "\n") != strings.Join(want, "\n") {
			t.Errorf("released %v, want %v", payloads.released, want)
		}
	}
	postLong("a", nil, 200)
	check("used " + name("a"))
	postLong("b", domain.Errorf(domain.Full, "the disk is full"), 507)
	check("unused " + name("b"))
	postLong("c", domain.Errorf(domain.Unavailable, "the queue is full"), 503)
	check("unused " + name("c"))
	postLong("d", &domain.Error{Code: domain.Unavailable, Message: "the log failed", InDoubt: true}, 503)
	check() // it may be on record
	postLong("e", nil, 200)
	check("used " + name("e"))
}

func TestLoadedBodiesHaveABound(t *testing.T) {
	const budget = 84 << 10 // three quarters of it are a body of 40 KiB and one block, not the four blocks that it came in
	h, log, _ := mustDeviceREST(t, func(o *handlers.Options) { o.BodyMemory, o.InlineBytes, o.ResourceBytes = budget, 40<<10, 1<<20 })
	entered, leave := make(chan struct{}), make(chan struct{})
	log.Before = func() {
		entered <- struct{}{}
		<-leave
	}
	first := make(chan int)
	serve := func(n int) int {
		return handlerstest.Serve(h, "POST", resource+"vBinary", strings.Repeat("x", n)).Code
	}
	go func() { first <- serve(40 << 10) }()
	<-entered
	if code := serve(40 << 10); code != 503 {
		t.Errorf("over the budget: got %d", code)
	}
	go func() { first <- serve(10 << 10) }()
	<-entered // there is room for a short one
	go func() { first <- serve(1 << 20) }()
	<-entered // and for a long one, which is not loaded
	for range 3 {
		leave <- struct{}{}
		if code := <-first; code != 200 {
			t.Errorf("within the budget: got %d", code)
		}
	}
	log.Before = nil
	if code := serve(40 << 10); code != 200 {
		t.Errorf("after them: got %d", code)
	}
}

package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/handlers/handlerstest"
)

// exchange is a request to a real EdgeX 2.3 and its answer. N is its place in the recording, of which the file holds a
// sample in order.
type exchange struct {
	N            int
	Case         string
	Method, Path string
	Headers      map[string]string
	Body         string
	Bytes        []byte // instead of Body, where it is not text
	Chunked      bool   // the body has no declared length
	Status       int
	Type, Answer string
	Len          int  // of the whole answer, in bytes, if Answer is only its beginning
	Loose        bool // the answer depends on what else was there, or is a message: only its members are compared, or that there is one
}

// clientMistakes are the exchanges in which EdgeX answers 500 to what is the client's mistake. Ledge answers 400.
var clientMistakes = map[int]string{
	127: "an object instead of an array",
	171: "JSON that ends early",
	172: "no body",
	178: "a number instead of an array",
	202: "not JSON",
	219: "not JSON",
	259: "multipart without a boundary",
	289: "JSON that ends early",
	328: "an object instead of an array",
	409: "no body",
	414: "a string instead of an array",
	415: "a number instead of an array",
	481: "an object instead of an array",
	525: "JSON that ends early",
	526: "no body",
	532: "a number instead of an array",
	607: "a string instead of an array",
	642: "JSON that ends early",
	643: "no body",
	648: "a string instead of an array",
	695: "an object instead of an array",
	700: "a number instead of an array",
	840: "CBOR that calls itself JSON",
}

// knownWrong are the exchanges that Ledge answers otherwise, and how; docs/reference/edgex-differences.md lists them.
var knownWrong = map[int]string{
	10:   "a CORS preflight of an origin that is not trusted is answered 403; EdgeX answers 200 without a CORS header",
	395:  "a byte order mark is taken; EdgeX answers 500",
	430:  "the list has the device of 395 too",
	801:  "a binary value comes back; EdgeX has emptied it",
	1078: "a value for a write-only resource is refused",
	1141: "a value for a LOCKED device is refused",
	905:  "media types are compared whatever their case",
	932:  "an integer out of the type's range is refused; EdgeX wraps it around",
	947:  "an integer out of the type's range is refused; EdgeX wraps it around",
	976:  "a Uint64 above the Int64 range is in range",
	992:  "an integer out of the type's range is refused; EdgeX wraps it around",
	1007: "an integer out of the type's range is refused; EdgeX wraps it around",
	1010: "an integer out of the type's range is refused; EdgeX wraps it around",
	1022: "an integer out of the type's range is refused; EdgeX wraps it around",
	1025: "an integer out of the type's range is refused; EdgeX wraps it around",
	1052: "0 is a number; EdgeX refuses it",
	1059: "0 is a number; EdgeX refuses it",
	1065: "arrays are taken; EdgeX refuses them",
	1067: "arrays are taken; EdgeX refuses them",
	1068: "arrays are taken; EdgeX refuses them",
	1125: "a device that is wrong in itself is refused; EdgeX's device-rest looks at none",
	1126: "there is no setting that turns discovery on, so that the answer is always 501",
	1127: "there is always a secret store",
}

// offDocument are the exchanges that succeed although our OpenAPI document does not allow the request, and why.
var offDocument = map[int]string{
	395: "a byte order mark",
	354: "times in a request, which are ignored",
	802: "a value type in lower case",
}

// TestRecordedMetadata repeats what clients asked EdgeX's core-metadata and holds that Ledge answers the same, but for
// times, ids and the wording of messages.
func TestRecordedMetadata(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	replayAll(t, p, p.Metadata, p.Metadata, readExchanges(t, "testdata/exchanges/metadata.jsonl"), metadataGiven)
}

// TestRecordedStrictMetadata is the same of a core-metadata with its strict settings and the validation of units on.
func TestRecordedStrictMetadata(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir(), "--strict-profiles", "changes,deletes", "--units-file", ledgetest.Repo("cmd/internal/config/units.yaml"))
	replayAll(t, p, p.Metadata, p.Metadata, readExchanges(t, "testdata/exchanges/metadata-strict.jsonl"), slices.Concat(
		givenProfiles(560, "prof", "prof2"), []given{givenService("svc", "http://127.0.0.1:42089")}))
}

// replayAll repeats exchanges with the service at base, and in their places what was given, with the one at givenBase.
func replayAll(t *testing.T, p *ledgetest.Node, base, givenBase string, all []exchange, prior []given) {
	t.Helper()
	r := replay{t: t, p: p, base: base, givenBase: givenBase, ids: map[string]string{}}
	for _, x := range all {
		for len(prior) > 0 && prior[0].before <= x.N {
			r.give(prior[0])
			prior = prior[1:]
		}
		r.repeat(x)
	}
}

// repeat holds that an exchange has the answer that was recorded, or is known not to.
func (r replay) repeat(x exchange) {
	r.t.Helper()
	got := r.send(x)
	wrong := r.compare(x, got)
	if why := knownWrong[x.N]; why != "" {
		if wrong == nil {
			r.t.Errorf("%v: is right now, take it out of knownWrong: %s", x, why)
		}
		return
	}
	if wrong != nil {
		r.t.Errorf("%v\nsent %s: %v\ngot  %d %s\nwant %d %s", x, x.Body, wrong, got.Status, got.Body, x.Status, x.Answer)
	}
}

func readExchanges(tb testing.TB, file string) []exchange {
	tb.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	var all []exchange
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b)+1)
	for lines.Scan() {
		var x exchange
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			tb.Fatalf("%s: line %d: %v", file, len(all)+1, err)
		}
		all = append(all, x)
	}
	return all
}

func (x exchange) String() string {
	return fmt.Sprintf("%d %s: %s %s", x.N, x.Case, x.Method, x.Path)
}

// replay repeats exchanges with a running process.
type replay struct {
	t         *testing.T
	p         *ledgetest.Node
	base      string            // URL of the service
	givenBase string            // of the service that brings about what is given
	ids       map[string]string // of EdgeX to those of Ledge
}

// recorded is when the recording was made, in nanoseconds since the Unix epoch: an origin from then on is EdgeX's own.
const recorded = 1795246900e9

var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// send sends the request of an exchange. An id that Ledge chose stands in the place of the one that EdgeX chose; any
// other was chosen by the client, so that both know it. What notifications set off is over when send returns, as it was
// between the exchanges of the recording.
func (r replay) send(x exchange) ledgetest.Answer {
	r.t.Helper()
	ours := func(id string) string {
		if _, ok := r.ids[id]; !ok {
			r.ids[id] = id
		}
		return r.ids[id]
	}
	body := io.Reader(strings.NewReader(uuids.ReplaceAllStringFunc(x.Body, ours)))
	if x.Bytes != nil {
		body = bytes.NewReader(x.Bytes)
	}
	if x.Chunked {
		body = struct{ io.Reader }{body} // which hides its length
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), ledgetest.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, x.Method, r.base+uuids.ReplaceAllStringFunc(x.Path, ours), body)
	if err != nil {
		r.t.Fatal(err)
	}
	for name, value := range x.Headers {
		req.Header.Set(name, value)
	}
	if offDocument[x.N] != "" {
		req = handlerstest.Loose(req)
	}
	client := *http.DefaultClient
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", x, err, r.p.Log)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%v: %v", x, err)
	}
	if x.Method == http.MethodPost && x.Path == "/api/v2/notification" {
		r.p.WaitCount("notification/status/NEW?limit=0", ledgetest.IsNone)
	}
	return ledgetest.Answer{Status: resp.StatusCode, Body: string(b), Header: resp.Header}
}

// give brings about what the recording found or did between the exchanges that the file holds.
func (r replay) give(g given) {
	r.t.Helper()
	x := exchange{N: g.before, Case: "given", Method: g.method, Path: "/api/v2/" + g.path, Headers: map[string]string{"Content-Type": "application/json"}, Body: g.body}
	r.base = r.givenBase
	got := r.send(x)
	if status := ledgetest.Statuses(got); len(status) == 0 || slices.Max(status) >= 300 {
		r.t.Errorf("before %v %s: got %d %s", x, x.Body, got.Status, got.Body)
	}
}

func (r replay) compare(x exchange, got ledgetest.Answer) error {
	if _, mistake := clientMistakes[x.N]; mistake && x.Status == http.StatusInternalServerError {
		if got.Status != http.StatusBadRequest {
			return fmt.Errorf("status %d, want %d", got.Status, http.StatusBadRequest)
		}
		x.Answer = strings.Replace(x.Answer, `"statusCode":500`, `"statusCode":400`, 1)
	} else if got.Status != x.Status {
		return fmt.Errorf("status %d, want %d", got.Status, x.Status)
	}
	if x.Status == http.StatusMethodNotAllowed && got.Header.Get("Allow") != "" { // EdgeX has no body
		return nil
	}
	if have := got.Header.Get("Content-Type"); have != x.Type {
		return fmt.Errorf("Content-Type %q, want %q", have, x.Type)
	}
	if !json.Valid([]byte(x.Answer)) {
		if x.Loose && got.Body != "" {
			return nil
		}
		if x.Status == http.StatusNotFound && strings.HasPrefix(got.Body, x.Answer) { // Ledge says where to go
			return nil
		}
		if strings.TrimSpace(got.Body) != strings.TrimSpace(x.Answer) {
			return fmt.Errorf("body %q, want %q", got.Body, x.Answer)
		}
		return nil
	}
	var have, want any
	if err := json.Unmarshal([]byte(got.Body), &have); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	_ = json.Unmarshal([]byte(x.Answer), &want)
	if x.Loose {
		return r.sameNames(have, want)
	}
	return r.same("body", "", have, want)
}

// sameNames holds that two objects have members of the same names.
func (r replay) sameNames(have, want any) error {
	h, _ := have.(map[string]any)
	w, _ := want.(map[string]any)
	delete(h, "errors") // Ledge's own, beside the message
	delete(h, "ledgeVersion")
	if status, _ := h["statusCode"].(float64); status < 300 && w["message"] == nil {
		delete(h, "message") // Ledge's own: keys and categories that nobody knows
	}
	if got, want := slices.Sorted(maps.Keys(h)), slices.Sorted(maps.Keys(w)); !slices.Equal(got, want) {
		return fmt.Errorf("body has %v, want %v", got, want)
	}
	return nil
}

// same compares two values that stand at a place, as the member name of an object or as an element of a list.
func (r replay) same(at, name string, have, want any) error {
	switch want := want.(type) {
	case map[string]any:
		if err := r.sameNames(have, want); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if err := r.same(at+"."+name, name, have.(map[string]any)[name], want[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		list, _ := have.([]any)
		if len(list) != len(want) {
			return fmt.Errorf("%s: %d elements, want %d", at, len(list), len(want))
		}
		for i := range want {
			if err := r.same(fmt.Sprintf("%s[%d]", at, i), "", list[i], want[i]); err != nil {
				return err
			}
		}
		return nil
	}
	switch name {
	case "origin":
		if n, _ := want.(float64); n < recorded {
			break
		}
		if n, _ := have.(float64); n <= 0 {
			return fmt.Errorf("%s: got %v, want such as %v", at, have, want)
		}
		return nil
	case "created", "modified", "sent", "timestamp", "message":
		if have == nil || have == "" || have == 0.0 || fmt.Sprintf("%T", have) != fmt.Sprintf("%T", want) {
			return fmt.Errorf("%s: got %v, want such as %v", at, have, want)
		}
		return nil
	case "id", "notificationId", "requestId":
		theirs, _ := want.(string)
		ours, _ := have.(string)
		if _, ok := r.ids[theirs]; !ok && uuids.MatchString(ours) {
			for other, id := range r.ids {
				if id == ours {
					return fmt.Errorf("%s: got %v again, which stands for %v, want another", at, have, other)
				}
			}
			r.ids[theirs] = ours
		}
		want = r.ids[theirs]
	}
	if have != want {
		return fmt.Errorf("%s: got %v, want %v", at, have, want)
	}
	return nil
}

// given is a request whose effect later exchanges need and that is none of them itself.
type given struct {
	before             int
	method, path, body string
}

var metadataGiven = slices.Concat(
	givenProfiles(81, "prof2", "prof3"),
	givenProfiles(98, "p~:;=_x"),
	[]given{{101, http.MethodDelete, "deviceprofile/name/ref-zdbec7d9-p~:;=_x", ""}},
	givenProfiles(139, "prof7", "prof8", "prof9", "prof10", "prof11", "prof12"),
	[]given{
		{234, http.MethodPost, "deviceprofile/deviceCommand", `[{"apiVersion":"v2","profileName":"ref-zdbec7d9-prof2","deviceCommand":{"name":"c9","isHidden":true,"readWrite":"R","resourceOperations":[{"deviceResource":"r2"}]}}]`},
		givenService("svc", "http://127.0.0.1:42089"), givenService("svc2", "http://127.0.0.1:42089/badval"), givenService("svc3", "http://127.0.0.1:1"),
		{341, http.MethodDelete, "deviceservice/name/ref-zdbec7d9-svc4", ""},
	},
	givenDevices(344, "lb", "d1"),
	givenDevices(349, "lb", "d4", "d5"),
	[]given{{353, http.MethodPost, "device", strings.Replace(recordedDevice("lb", "d6"), `{"name"`, `{"id":"e4b2f1b1-88b8-599e-829c-0dddae05708b","name"`, 1)}},
	givenDevices(389, "lb", "d9", "d10"),
	givenDevices(390, "lb", "d12", "d13", "d14", "d15"),
	givenDevices(407, "lb", "d17", "d18", "d19", "d20"),
	givenDevices(451, "ord", "o1", "o2", "o3"),
	[]given{
		{454, http.MethodPatch, "device", `[{"apiVersion":"v2","device":{"name":"ref-zdbec7d9-d1","description":"patched","adminState":"LOCKED","operatingState":"DOWN","labels":["lb-zdbec7d9","n"]}}]`},
		{510, http.MethodPost, "provisionwatcher", recordedWatcher("w1", "prof")},
		{539, http.MethodPost, "provisionwatcher", strings.Replace(recordedWatcher("w2", "prof"), `{"name"`, `{"id":"07795d39-caeb-5ae4-a41c-5890ddc2ff86","name"`, 1)},
		{557, http.MethodPost, "provisionwatcher", recordedWatcher("w3", "profw")},
		{1140, http.MethodPost, "device", `[{"apiVersion":"v2","device":{"name":"ref-zdbec7d9-rest","adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-rest","profileName":"ref-zdbec7d9-restprof","protocolName":"rest","protocols":{"other":{}}}}]`},
		{1152, http.MethodDelete, "device/name/ref-zdbec7d9-rest", ""},
	},
)

// givenProfiles are profiles as the recording adds them.
func givenProfiles(before int, names ...string) []given {
	var all []given
	for _, name := range names {
		all = append(all, given{before, http.MethodPost, "deviceprofile", fmt.Sprintf(`[{"apiVersion":"v2","profile":{"name":"ref-zdbec7d9-%s","manufacturer":"mf-zdbec7d9","model":"md-zdbec7d9","labels":["lb-zdbec7d9"],"description":"profile for recording",`+
			`"deviceResources":[{"name":"r1","isHidden":false,"description":"d","properties":{"valueType":"Int32","readWrite":"RW"}},{"name":"r2","isHidden":false,"description":"d","properties":{"valueType":"String","readWrite":"R"}}],`+
			`"deviceCommands":[{"name":"c1","isHidden":false,"readWrite":"R","resourceOperations":[{"deviceResource":"r1"},{"deviceResource":"r2"}]}]}}]`, name)})
	}
	return all
}

func givenService(name, address string) given {
	return given{277, http.MethodPost, "deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"ref-zdbec7d9-%s","description":"s","labels":["lb-zdbec7d9"],"baseAddress":%q,"adminState":"UNLOCKED"}}]`, name, address)}
}

func givenDevices(before int, label string, names ...string) []given {
	var all []given
	for _, name := range names {
		all = append(all, given{before, http.MethodPost, "device", recordedDevice(label, name)})
	}
	return all
}

func recordedDevice(label, name string) string {
	return fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":"ref-zdbec7d9-%s","description":"device for recording","adminState":"UNLOCKED","operatingState":"UP","labels":["%s-zdbec7d9"],`+
		`"serviceName":"ref-zdbec7d9-svc","profileName":"ref-zdbec7d9-prof","protocols":{"other":{"Address":"a","Port":"1"}}}}]`, name, label)
}

func recordedWatcher(name, profile string) string {
	return fmt.Sprintf(`[{"apiVersion":"v2","provisionWatcher":{"name":"ref-zdbec7d9-%s","labels":["lb-zdbec7d9"],"identifiers":{"address":"localhost","port":"3[0-9]{2}"},"blockingIdentifiers":{"port":["397","398"]},`+
		`"profileName":"ref-zdbec7d9-%s","serviceName":"ref-zdbec7d9-svc","adminState":"UNLOCKED"}}]`, name, profile)
}

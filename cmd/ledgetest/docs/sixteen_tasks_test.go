package docs

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledge/bridge/mailtest"
	"ledge/bridge/mqtttest"
	"ledge/bridge/porttest"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"

	"gopkg.in/yaml.v3"
)

// operator types the shell blocks of the task pages, each page from its beginning.
type operator struct {
	*ledgetest.Desk
	*ledgetest.Node
	t    *testing.T
	left map[string][]string // blocks that are not yet typed, by page
}

// taskPages are the pages whose commands are typed. Other tests type those of the others.
var taskPages = []string{"install.md", "first-camera.md", "subscribe.md", "secure.md", "audit.md", "backup.md", "retention.md"}

func newOperator(t *testing.T, replace ...string) *operator {
	t.Helper()
	o := &operator{Desk: ledgetest.NewDesk(t), t: t, left: map[string][]string{}}
	for _, page := range taskPages {
		o.left[page] = ledgetest.ShellBlocks(ledgetest.MustReadDocs(t, page))
	}
	for _, file := range []string{"photo.jpg", "subscriber.py"} {
		ledgetest.MustWrite(t, o.Path(file), ledgetest.MustRead(t, "../../../docs/tour/"+file))
	}
	o.replaceAlso(replace...)
	return o
}

// replaceAlso has the operator type other ports and folders than the pages show.
func (o *operator) replaceAlso(replace ...string) {
	o.Replace = strings.NewReplacer(append(replace, "/etc/ledge", o.Path("etc"), "/var/lib/ledge", o.Path("var"),
		"curl ", "curl -sS --fail --noproxy '*' ")...)
}

// next returns the page's next block.
func (o *operator) next(page string) string {
	o.t.Helper()
	blocks := o.left[page]
	if len(blocks) == 0 {
		o.t.Fatalf("docs/%s has no further shell block", page)
	}
	o.left[page] = blocks[1:]
	return blocks[0]
}

// types runs the page's next block and holds that it prints each text.
func (o *operator) types(page, stdin string, wants ...string) {
	o.t.Helper()
	block := o.next(page)
	out := o.Run(block, stdin)
	for _, want := range wants {
		if !strings.Contains(out, want) {
			o.t.Errorf("docs/%s: %s\nprints %s\nwant %q", page, block, out, want)
		}
	}
}

// starts runs the page's next block until the server is ready. From then on the operator types the ports of this server.
func (o *operator) starts(page string, replace ...string) {
	o.t.Helper()
	o.Node = o.Serve(strings.TrimSpace(o.next(page)), "data")
	o.replaceAlso(append(replace, o.Typed()...)...)
}

// TestSixteenTasks does what a new operator does, each task with the commands of its page. It fails if a shell block of these pages is not typed.
func TestSixteenTasks(t *testing.T) {
	t.Parallel()
	ledgetest.NeedLibzmq(t)
	heard := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		heard <- r.URL.Path + string(body)
	}))
	defer receiver.Close()
	broker := mqtttest.Start(t, "listener PORT 127.0.0.1\nallow_anonymous true\n", nil)
	published := broker.Subscribe()
	mail := mailtest.Start(t, "plain")
	o := newOperator(t)
	o.Env = append(o.Env, "LEDGE_SMTP_SERVER=smtp+plain://127.0.0.1:"+strconv.Itoa(mail.Port)+"?from=ledge@example.org")

	o.types("install.md", "", "ledge")
	if text := ledgetest.MustRead(t, o.Path("etc/ledge.yaml")); !strings.Contains(text, o.Path("var")) {
		t.Errorf("the file of settings does not name the data folder: %s", text)
	}
	ports := []string{"5563", strconv.Itoa(porttest.Hold(t)), `"port":8080`, `"port"` + receiver.URL[strings.LastIndex(receiver.URL, ":"):],
		`"port":1883`, `"port":` + strconv.Itoa(broker.Port)}
	o.starts("first-camera.md", ports...)
	o.adminLogsIn()
	o.types("first-camera.md", "", `"statusCode":201`) // profile
	o.types("first-camera.md", "", `"statusCode":201`) // device
	o.types("first-camera.md", "")                     // picture
	o.types("first-camera.md", "")                     // read back
	o.subscribes(heard)
	if m := received(t, published); m.Topic() != "ledge/devices" || !readsAsHomeAssistant(t, m.Payload()) {
		t.Errorf("the broker got %s %s", m.Topic(), m.Payload())
	}
	if m := mail.Next(); len(m.To) != 1 || m.To[0] != "you@example.org" || !strings.Contains(m.Data, "cam-1") {
		t.Errorf("mail: %+v", m)
	}
	ledgetest.Until(t, "the subscriber to be gone", func() bool { return strings.Contains(o.Run("ledge why watch --data-dir data", ""), "STOP") })
	o.types("subscribe.md", "", "\nSTOP  port ")
	o.types("retention.md", "", `"storage":`, `"freeBytes":`, "Use%")
	o.types("retention.md", "", "camera.*.jpeg age=24h bytes=10GiB")
	o.Stop()
	o.secures()
	o.audits()
	o.backsUp()
	for page, blocks := range o.left {
		if len(blocks) > 0 {
			t.Errorf("docs/%s: nobody types %q", page, blocks)
		}
	}
}

func received[T any](t *testing.T, from <-chan T) (one T) {
	t.Helper()
	select {
	case one = <-from:
	case <-time.After(ledgetest.Timeout):
		t.Fatal("nothing was received")
	}
	return one
}

func (o *operator) adminLogsIn() {
	o.t.Helper()
	block := o.next("first-camera.md")
	body, err := json.Marshal(map[string]string{"username": "admin", "password": strings.TrimSpace(o.Run(block, ""))})
	if err != nil {
		o.t.Fatal(err)
	}
	if a := o.Call(http.MethodPost, o.Metadata+"/api/v2/login", "application/json", string(body)); a.Status != http.StatusOK {
		o.t.Errorf("login as admin: %d %s", a.Status, a.Body)
	}
}

// subscribes adds a channel of each kind. The ZeroMQ subscriber hears that the camera is locked, and ends. The REST receiver hears that
// the camera is unlocked.
func (o *operator) subscribes(heard <-chan string) {
	o.t.Helper()
	o.types("subscribe.md", "", `"statusCode":201`)
	listening := o.Command("exec " + o.next("subscribe.md"))
	subscriber := (&ledgetest.Shell{T: o.t}).Background(listening)
	ledgetest.Until(o.t, "the subscriber", func() bool { return strings.Contains(o.Run("ledge why watch --data-dir data", ""), "1 subscriber") })
	o.types("subscribe.md", "", `"statusCode":200`)
	ledgetest.Until(o.t, "the frames", func() bool { return strings.Contains(subscriber.String(), "\n") })
	if got := subscriber.String(); !strings.HasPrefix(got, `['cam', '{"deviceName":"cam-1",`) {
		o.t.Errorf("subscriber.py printed %s", got)
	}
	if err := listening.Process.Kill(); err != nil {
		o.t.Error(err)
	}
	for range 4 { // REST, MQTT, mail, the change
		o.types("subscribe.md", "", `"statusCode":20`)
	}
	if got := received(o.t, heard); !strings.HasPrefix(got, "/in") || !strings.Contains(got, "cam-1") {
		o.t.Errorf("the REST receiver got %s", got)
	}
}

// readsAsHomeAssistant holds that the configuration of docs/integrate.md reads a message.
func readsAsHomeAssistant(t *testing.T, message []byte) bool {
	t.Helper()
	_, text, _ := strings.Cut(ledgetest.MustReadDocs(t, "integrate.md"), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	var c struct {
		MQTT struct {
			Sensor []struct {
				StateTopic    string `yaml:"state_topic"`
				ValueTemplate string `yaml:"value_template"`
			}
		}
	}
	var change map[string]any
	if err := yaml.Unmarshal([]byte(text), &c); err != nil || len(c.MQTT.Sensor) != 1 || json.Unmarshal(message, &change) != nil {
		t.Fatalf("docs/integrate.md: %v\n%s\n%s", err, text, message)
	}
	sensor := c.MQTT.Sensor[0]
	for _, field := range []string{"adminState", "deviceName"} {
		if _, ok := change[field]; !ok || !strings.Contains(sensor.ValueTemplate, "value_json."+field) {
			t.Errorf("%s is not in the message %s or not in the template %s", field, message, sensor.ValueTemplate)
		}
	}
	return sensor.StateTopic == "ledge/devices"
}

// secures starts in secure mode, adds a user who may only look and a token that may only post, and replaces the token. Over the API it adds
// a user, who then changes its password.
func (o *operator) secures() {
	o.t.Helper()
	o.starts("secure.md")
	o.types("secure.md", "", "core-metadata")
	o.types("secure.md", "correct horse battery\n")
	o.types("secure.md", "", `"name":"cam-1"`)
	o.types("secure.md", "") // a token for a program
	post := o.next("secure.md")
	o.Run(post, "")
	first := ledgetest.MustRead(o.t, o.Path("gate.token"))
	o.types("secure.md", "") // replaced, with an overlap
	o.Run(post, "")
	o.types("secure.md", "") // and without one
	o.Run(post, "")
	ledgetest.MustWrite(o.t, o.Path("gate.token"), first)
	if out, err := o.Command(post).CombinedOutput(); err == nil || !strings.Contains(string(out), "401") {
		o.t.Errorf("the replaced secret: %v %s", err, out)
	}
	o.types("secure.md", "", `"statusCode":201`)
	o.types("secure.md", "", "log in with the new password")
}

func (o *operator) audits() {
	o.t.Helper()
	o.types("audit.md", "", "adminState: UNLOCKED → LOCKED", "anonymous@127.0.0.1")
	o.types("audit.md", "", `"stream":"reading"`)
	o.types("audit.md", "") // of one day
	o.types("audit.md", "", "device.updated  by anonymous@127.0.0.1", "adminState: UNLOCKED → LOCKED", "device.added")
	o.types("audit.md", "", "device cam-1: added")
	o.types("audit.md", "", "messages on replay.test.>")
	o.types("audit.md", "", "whole")
	o.types("audit.md", "") // a key and a checkpoint
	o.types("audit.md", "", "extend the checkpoint of")
	o.types("audit.md", "", "LEDGE_EVENTS: event 8 is on the log of ledge/")
}

func (o *operator) backsUp() {
	o.t.Helper()
	o.types("backup.md", "", "token gate, poster")
	o.types("backup.md", "")          // before the upgrade
	o.types("backup.md", "", "whole") // after it
	if err := os.CopyFS(o.Path("damaged"), os.DirFS(o.Path("restored"))); err != nil {
		o.t.Fatal(err)
	}
	block, err := filepath.Glob(o.Path("damaged/nats/jetstream/*/streams/LEDGE_EVENTS/msgs/1.blk"))
	if err != nil || len(block) != 1 {
		o.t.Fatalf("block files: %v %v", block, err)
	}
	text := []byte(ledgetest.MustRead(o.t, block[0]))
	text[len(text)/2] ^= 1
	ledgetest.MustWrite(o.t, block[0], string(text))
	salvage := o.Command(o.next("backup.md"))
	if out, _ := salvage.CombinedOutput(); salvage.ProcessState.ExitCode() != exit.Partial {
		o.t.Errorf("salvage: %v\n%s", salvage.ProcessState, out)
	}
	o.Serve("ledge serve --data-dir salvaged", "salvaged").Stop()
}

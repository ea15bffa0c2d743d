package bus

import (
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/uuid"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// busClients are programs with the message clients of EdgeX, unmodified, by the version of EdgeX.
type busClients map[string][]string

func buildBusClients(t *testing.T) busClients {
	t.Helper()
	const tag = "include_nats_messaging"
	old, both := ledgetest.BuildOnEdgeX(t, "testdata/busclient2", tag), ledgetest.BuildOnEdgeX(t, "testdata/busclient4", tag)
	return busClients{"2.3": {old}, "3.1": {both, "3"}, "4.0": {both, "4"}}
}

// busClient is such a program that runs.
type busClient struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *ledgetest.Output
}

// start runs the client of a version until the test ends, with the arguments that it takes.
func (c busClients) start(t *testing.T, version string, args ...string) *busClient {
	t.Helper()
	line := append(append([]string{}, c[version]...), args...)
	cmd := exec.Command(line[0], line[1:]...)
	b := &busClient{t: t, cmd: cmd, out: &ledgetest.Output{More: make(chan struct{}, 1)}}
	cmd.Stdout, cmd.Stderr = b.out, b.out
	var err error
	if b.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return b
}

// want waits until the program has printed a text.
func (b *busClient) want(text string) {
	b.t.Helper()
	ledgetest.Until(b.t, text+" of the client, which says "+b.out.String(), func() bool {
		if line, failed := b.out.Find("failed:"); failed {
			b.t.Fatal(line)
		}
		_, ok := b.out.Find(text)
		return ok
	})
}

// publishes has the client publish an event, which core-data then has, and the client hears.
func (b *busClient) publishes(version string, has func(id string) bool) {
	b.t.Helper()
	b.want("ready")
	id := uuid.NewString()
	text := edgexEvent(id, "virtual", 7)
	if version != "2.3" {
		text = strings.NewReplacer(`"v2"`, `"v3"`).Replace(text)
	}
	if version == "4.0" {
		text = strings.ReplaceAll(text, `"value":"7"`, `"value":7`)
	}
	if _, err := io.WriteString(b.in, text+"\n"); err != nil {
		b.t.Fatal(err)
	}
	b.want("published")
	b.want("received edgex/events/device/")
	ledgetest.Until(b.t, "the event", func() bool { return has(id) })
}

// topicOf returns the topic on which device services of a version publish the events of the test.
func topicOf(version string) string {
	if version == "2.3" {
		return "edgex/events/device/climate/virtual/hum"
	}
	return "edgex/events/device/device-virtual/climate/virtual/hum"
}

// TestEdgeXClients has the message clients of EdgeX 2.3, 3.1 and 4.0 publish events and subscribe, on each message bus that they have.
func TestEdgeXClients(t *testing.T) {
	t.Parallel()
	clients := buildBusClients(t)
	p := ledgetest.StartSeed(t, "--edgex-bus", "redis:0,mqtt:0")
	for version := range clients {
		for _, c := range []struct{ kind, format, at string }{
			{"nats-core", "nats", p.NATS}, {"nats-core", "json", p.NATS},
			{"nats-jetstream", "nats", p.NATS}, {"nats-jetstream", "json", p.NATS},
			{"mqtt", "", readyAt(p, "mqtt")}, {"redis", "", readyAt(p, "redis")},
		} {
			if version == "4.0" && c.kind == "redis" {
				continue // it has none
			}
			t.Run(version+" "+c.kind+" "+c.format, func(t *testing.T) {
				clients.start(t, version, portOf(c.at), c.kind, c.format, "", "", "", topicOf(version)).
					publishes(version, func(id string) bool { return hasEvent(p, id) })
			})
		}
	}
}

// readyAt returns an address of which a node says at its start that it listens there.
func readyAt(p *ledgetest.Node, name string) string {
	line, _ := p.Log.Find(`"msg":"ready"`)
	return ledgetest.LogField(line, name)
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// TestEdgeXClientsWithTokens has the clients publish and subscribe in secure mode over NATS and MQTT, with a token of the role service.
// With another role they are not let in.
func TestEdgeXClientsWithTokens(t *testing.T) {
	t.Parallel()
	clients := buildBusClients(t)
	s := ledgetest.StartSecured(t, "--edgex-bus", "mqtt:0")
	ca, ports := ledgetest.MustWriteFile(t, "ca.pem", ledgetest.CA(s.Node)), map[string]string{
		"nats-core": portOf(s.NATS), "nats-jetstream": portOf(s.NATS), "mqtt": portOf(readyAt(s.Node, "mqtt")),
	}
	has := func(id string) bool {
		a := s.Send(s.Tokens[domain.Viewer], http.MethodGet, s.CoreData+"/api/v2/event/id/"+id, "", "")
		return a.Status == http.StatusOK && strings.Contains(a.Body, id)
	}
	for version := range clients {
		for kind, port := range ports {
			t.Run(version+" "+kind, func(t *testing.T) {
				b := clients.start(t, version, port, kind, "nats", "edgex", s.Tokens[domain.Service], ca, topicOf(version))
				b.publishes(version, has)
			})
		}
		for _, role := range []domain.Role{domain.Poster, domain.Admin} {
			for _, kind := range []string{"nats-jetstream", "mqtt"} {
				b := clients.start(t, version, ports[kind], kind, "nats", "edgex", s.Tokens[role], ca, topicOf(version))
				ledgetest.Until(t, "the client to fail", func() bool { _, failed := b.out.Find("failed:"); return failed })
			}
		}
	}
}

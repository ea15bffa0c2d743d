package bus

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// mustRun runs a client's command against the bus of a node, and returns all that it prints.
func mustRun(t *testing.T, p *ledgetest.Node, fails bool, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ledgetest.Timeout)
	defer cancel()
	home := t.TempDir()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "NATS_URL="+p.NATS, "HOME="+home, "XDG_CONFIG_HOME="+home)
	out, err := cmd.CombinedOutput()
	if (err != nil) != fails {
		t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestNATSCommand types the commands that docs/reference/nats-clients.md shows for streams and consumers, and others that are refused.
func TestNATSCommand(t *testing.T) {
	t.Parallel()
	command := ledgetest.FindNATS(t)
	documented := ledgetest.Lines(ledgetest.ShellBlocks(ledgetest.MustReadDocs(t, "reference/nats-clients.md"))[0])
	p := ledgetest.StartSeed(t)
	mustAdd(t, p, "cam", 3)
	for _, c := range []struct {
		line  string
		wants []string
	}{
		{"nats stream ls", strings.Fields(streams)},
		{"nats stream info LEDGE_EVENTS", []string{"First Sequence: 1", "Discard Policy: Old", "Maximum Bytes: 64 MiB"}},
		{"nats stream get LEDGE_EVENTS 1", []string{"LEDGE_EVENTS#1", "ledge.event.", "device-rest"}},
		{
			"nats consumer add LEDGE_EVENTS audit --pull --deliver all --ack explicit --filter 'ledge.event.device.>' --defaults",
			[]string{"audit", "ledge.event.device.>"},
		},
		{"nats consumer next LEDGE_EVENTS audit --ack", []string{"ledge.event.device.", "Acknowledged message"}},
		{"nats sub --stream LEDGE_EVENTS --all --count 1", []string{"device-rest"}},
	} {
		if !slices.Contains(documented, c.line) {
			t.Errorf("docs/reference/nats-clients.md does not have %s", c.line)
		}
		args := strings.Fields(strings.ReplaceAll(c.line, "'", ""))[1:]
		out := mustRun(t, p, false, command, args...)
		for _, want := range c.wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", c.line, want, out)
			}
		}
	}
	for _, args := range [][]string{
		{"stream", "purge", "LEDGE_EVENTS", "--force"}, {"stream", "rm", "LEDGE_EVENTS", "--force"},
		{"stream", "rmm", "LEDGE_EVENTS", "1", "--force"},
		{"stream", "add", "MINE", "--subjects", "mine", "--defaults", "--timeout", "1s"}, {"kv", "add", "mine", "--timeout", "1s"},
	} {
		if out := mustRun(t, p, true, command, args...); out == "" {
			t.Errorf("%v: says nothing", args)
		}
	}
	if out := mustRun(t, p, false, command, "stream", "info", "LEDGE_EVENTS"); !strings.Contains(out, "First Sequence: 1") {
		t.Errorf("the stream has changed:\n%s", out)
	}
	if len(documented) != 6 {
		t.Errorf("docs/reference/nats-clients.md has %d commands, want 6", len(documented))
	}
}

// readers are clients of nats-py that print the subjects and types of events of devices, one in a line, until they are killed.
var readers = map[string]string{
	"pull": `
    durable = await stream.pull_subscribe("ledge.event.device.>", durable="pull", stream="LEDGE_EVENTS")
    while True:
        for message in await durable.fetch(1, timeout=60):
            await show(message)
            await message.ack_sync()`,
	"push": `
    await stream.subscribe("ledge.event.device.>", durable="push", stream="LEDGE_EVENTS", cb=show)
    await asyncio.Event().wait()`,
	"ordered": `
    ordered = await stream.subscribe("ledge.event.device.>", stream="LEDGE_EVENTS", ordered_consumer=True)
    while True:
        await show(await ordered.next_msg(timeout=60))`,
	"live": `
    await connection.subscribe("ledge.event.device.>", cb=show)
    await connection.flush()
    print("subscribed", flush=True)
    await asyncio.Event().wait()`,
}

// writeProgram returns the program of a client of nats-py.
func writeProgram(text string) string {
	return `
import asyncio, sys, nats

async def show(message):
    print(message.subject, message.headers["ce-type"], flush=True)

async def main():
    connection = await nats.connect(sys.argv[1])
    stream = connection.jetstream()` + text + `
    await connection.close()

asyncio.run(main())
`
}

// TestNATSPython reads events with nats-py: streams, pull, push and ordered consumers, and live messages.
func TestNATSPython(t *testing.T) {
	t.Parallel()
	ledgetest.NeedNATSPython(t)
	p := ledgetest.StartSeed(t)
	out := mustRun(t, p, false, ledgetest.Python, "-c", writeProgram(`
    for info in await stream.streams_info():
        print(info.config.name)
    print((await stream.get_msg("LEDGE_EVENTS", 1)).subject)`), p.NATS)
	for _, want := range append(strings.Fields(streams), "ledge.event.service.device-rest.added") {
		if !strings.Contains(out, want+"\n") {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for name, text := range readers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shell := ledgetest.Shell{T: t}
			out, prefix := shell.Background(exec.Command(ledgetest.Python, "-c", writeProgram(text), p.NATS)), "py-"+name
			if name == "live" {
				ledgetest.Until(t, "its subscription", func() bool { return out.Count("subscribed") == 1 })
			} else {
				ledgetest.Until(t, "events before it", func() bool { return out.Count("ledge.event.device.sample-image.added") == 1 })
			}
			mustAdd(t, p, prefix, 4)
			ledgetest.Until(t, "its events", func() bool { return out.Count("ledge.event.device."+prefix) == 4 })
		})
	}
}

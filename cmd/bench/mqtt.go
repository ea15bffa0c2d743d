package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/nats-io/nats.go"
)

// broker is a running Mosquitto.
type broker struct {
	port int
	cmd  *exec.Cmd
	dir  string
}

// startBroker starts Mosquitto, and returns nil where it is not installed.
func startBroker(ctx context.Context) (*broker, error) {
	path := mosquitto()
	if path == "" {
		return nil, nil
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-mqtt")
	if err != nil {
		return nil, err
	}
	b := &broker{port: port, dir: dir}
	config := filepath.Join(dir, "mosquitto.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, "log_dest none\nuser root\nset_tcp_nodelay true\nallow_anonymous true\nlistener %d 127.0.0.1\n", port), 0o600); err != nil {
		return nil, err
	}
	b.cmd = exec.CommandContext(ctx, path, "-c", config)
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	return b, b.await(ctx)
}

// mosquitto is the path of Mosquitto, "" where it is not installed.
func mosquitto() string {
	const debian = "/usr/sbin/mosquitto" // which is not in everybody's PATH
	if _, err := os.Stat(debian); err == nil {
		return debian
	}
	path, _ := exec.LookPath("mosquitto")
	return path
}

// await waits until the broker listens.
func (b *broker) await(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, frameWait)
	defer stop()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", b.address())
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			b.stop()
			return fmt.Errorf("mosquitto does not listen: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (b *broker) address() string { return fmt.Sprintf("127.0.0.1:%d", b.port) }

func (b *broker) stop() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
	_ = os.RemoveAll(b.dir)
}

// connectMQTT connects to a broker.
func connectMQTT(address, name string) (paho.Client, error) {
	c := paho.NewClient(paho.NewClientOptions().AddBroker("tcp://" + address).SetClientID(name))
	t := c.Connect()
	if !t.WaitTimeout(frameWait) {
		return nil, fmt.Errorf("%s does not answer an MQTT client within %v", address, frameWait)
	}
	return c, t.Error()
}

// subscribe hands over the messages of a topic.
func (b *broker) subscribe(topic string, heard func(body []byte)) (stop func(), err error) {
	c, err := connectMQTT(b.address(), "bench")
	if err != nil {
		return nil, err
	}
	stop = func() { c.Disconnect(0) }
	if t := c.Subscribe(topic, 1, func(_ paho.Client, m paho.Message) { heard(m.Payload()) }); t.WaitTimeout(frameWait) && t.Error() != nil {
		stop()
		return nil, t.Error()
	}
	return stop, nil
}

// mqttSubscription asks for the changes of devices at a broker.
func mqttSubscription(name string, port int) string {
	return fmt.Sprintf(`{"apiVersion":"v2","subscription":{"name":%q,"receiver":"bench","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],
		"channels":[{"type":"MQTT","host":"127.0.0.1","port":%d,"publisher":"ledge","topic":"bench","qos":1,"authMode":"none"}]}}`, name, port)
}

// mqttLatency adds the row of n clients, as restLatency does. Without a broker there is no row.
func (b *bench) mqttLatency(ctx context.Context, n int) error {
	at, err := startBroker(ctx)
	if at == nil || err != nil {
		return err
	}
	defer at.stop()
	heard := newHearing(n)
	stop, err := at.subscribe("bench", heard.take)
	if err != nil {
		return err
	}
	defer stop()
	return b.receiverLatency(ctx, n, "MQTT", heard, mqttSubscription("bench", at.port))
}

// edgexMQTT adds the row of events over MQTT, against Mosquitto alone, if that is installed.
func edgexMQTT(ctx context.Context, ledge *busSide) error {
	at, err := startBroker(ctx)
	if at == nil || err != nil {
		return err
	}
	defer at.stop()
	mosquitto := &busSide{bench: ledge.bench, at: &process{cmd: at.cmd}, heard: make(chan *nats.Msg, cap(ledge.heard))}
	stop, err := at.subscribe("edgex/events/device/#", func(body []byte) { mosquitto.heard <- &nats.Msg{Data: body} })
	if err != nil {
		return err
	}
	defer stop()
	for s, address := range map[*busSide]string{ledge: ledge.at.mqtt, mosquitto: at.address()} {
		if s.mqtt, err = connectMQTT(address, "publisher"); err != nil {
			return err
		}
		defer s.mqtt.Disconnect(0)
	}
	of := func(s *busSide) side {
		return func(ctx context.Context, _ int) (measured, error) { return s.publishMQTT(ctx) }
	}
	rows, err := compare(ctx, ledge.counts.rounds, of(ledge), of(mosquitto))
	if err != nil {
		return fmt.Errorf("events, MQTT: %w", err)
	}
	ledge.report.add(rows[0].against(rows[1], "events, MQTT with QoS 1"))
	return nil
}

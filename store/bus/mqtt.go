package bus

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// mqttClient serves a client of MQTT 3.1.1 or 3.1. It publishes with QoS 0, 1 or 2, and gets QoS 0. There are no retained messages, and no
// sessions that outlive a connection.
type mqttClient struct {
	*upstream
	texts Texts
	from  *bufio.Reader
}

const (
	// fullPause is the time between two tries to publish while the stream is full.
	fullPause = 250 * time.Millisecond
	// packetMost is the most bytes of a packet that is not a PUBLISH.
	packetMost = earlyMost
)

// ServeMQTT serves MQTT clients at a listener until the bus is closed, with TLS if the bus has TLS.
func ServeMQTT(b *Bus, l net.Listener, texts Texts) {
	serveOther(b, l, overMQTT, func(u *upstream) {
		m := &mqttClient{upstream: u, texts: texts, from: bufio.NewReaderSize(u.s, lineMost)}
		connect, ok := m.acceptLogin()
		if !ok {
			return
		}
		if m.serve(time.Duration(connect.Keepalive)*time.Second*3/2) != nil && connect.WillFlag {
			_ = m.published(connect.WillTopic, connect.WillMessage)
		}
	})
}

// acceptLogin logs the client in by its first packet.
func (m *mqttClient) acceptLogin() (*packets.ConnectPacket, bool) {
	first, err := readPacket(m.from, packetMost)
	connect, ok := first.(*packets.ConnectPacket)
	if err != nil || !ok {
		return nil, false
	}
	answer, _ := packets.NewControlPacket(packets.Connack).(*packets.ConnackPacket)
	answer.ReturnCode = connect.Validate()
	if answer.ReturnCode == packets.Accepted {
		err := m.login(connect.Username, string(connect.Password))
		answer.ReturnCode = returnCode(err)
	}
	ok = answer.ReturnCode == packets.Accepted
	if ok {
		m.bus.gate.takeOver(m.s, connect.ClientIdentifier)
	}
	if m.write(answer.Write, true) != nil || !ok {
		return nil, false
	}
	m.bus.gate.working.Go(func() { m.run(m.deliver) })
	return connect, true
}

// returnCode is the code of CONNACK for the error of a login.
func returnCode(err error) byte {
	refused, ok := errors.AsType[refusal](err)
	switch {
	case err == nil:
		return packets.Accepted
	case !ok || refused.reason == byConnections || refused.reason == byRate:
		return packets.ErrRefusedServerUnavailable
	case refused.reason == byCredentials:
		return packets.ErrRefusedBadUsernameOrPassword
	}
	return packets.ErrRefusedNotAuthorised
}

// serve answers the packets of a client, one after the other, until it disconnects. Each of them must come within a time, if that is not 0.
func (m *mqttClient) serve(within time.Duration) error {
	for {
		if within > 0 {
			_ = m.s.outside.SetReadDeadline(time.Now().Add(within))
		}
		packet, err := readPacket(m.from, commandMost)
		if err != nil {
			return err
		}
		var answer packets.ControlPacket
		switch p := packet.(type) {
		case *packets.PublishPacket:
			answer, err = m.take(p)
		case *packets.PubrelPacket:
			complete, _ := packets.NewControlPacket(packets.Pubcomp).(*packets.PubcompPacket)
			complete.MessageID = p.MessageID
			answer = complete
		case *packets.SubscribePacket:
			err = m.subscribed(p)
		case *packets.UnsubscribePacket:
			answer, err = m.unsubscribed(p)
		case *packets.PingreqPacket:
			answer = packets.NewControlPacket(packets.Pingresp)
		case *packets.DisconnectPacket:
			return nil
		default:
			err = fmt.Errorf("a client does not send %T", packet)
		}
		if err == nil && answer != nil {
			err = m.write(answer.Write, m.from.Buffered() == 0)
		}
		if err != nil {
			return err
		}
	}
}

// take publishes a message, and returns the acknowledgement when the stream has it. It waits while the stream is full, and with it the
// client. A message that finds no room is lost with QoS 0; otherwise the connection ends, and the client sends it again.
func (m *mqttClient) take(p *packets.PublishPacket) (packets.ControlPacket, error) {
	err := m.published(p.TopicName, p.Payload)
	if errors.Is(err, errSubject) {
		m.bus.gate.refuse(m.s, refusal{bySubject, err})
		return nil, err
	}
	if err != nil {
		m.bus.gate.refuse(m.s, refusal{byRoom, fmt.Errorf("not published on %.80q: %w", p.TopicName, err)})
	}
	switch p.Qos {
	case 0:
		return nil, m.s.alive.Err()
	case 1:
		answer, _ := packets.NewControlPacket(packets.Puback).(*packets.PubackPacket)
		answer.MessageID = p.MessageID
		return answer, err
	case 2:
		answer, _ := packets.NewControlPacket(packets.Pubrec).(*packets.PubrecPacket)
		answer.MessageID = p.MessageID
		return answer, err
	}
	return nil, fmt.Errorf("PUBLISH with QoS %d", p.Qos)
}

// published publishes a message on a topic, and returns when the stream has it. It tries again for writeWait.
func (m *mqttClient) published(topic string, text []byte) error {
	subject := topicSubject(topic)
	if err := checkSubject(subject, false); err != nil {
		return fmt.Errorf("topic %.80q: %w", topic, err)
	}
	for until := time.Now().Add(writeWait); ; {
		err := m.publishAcknowledged(m.texts.Decode(subject, text))
		if err == nil || m.s.alive.Err() != nil || time.Now().After(until) {
			return err
		}
		pauseFor(fullPause, m.s.alive.Done())
	}
}

// topicSubject returns the subject of a topic. A point in a level is two slashes in the subject, as NATS servers have it.
func topicSubject(topic string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(topic, ".", "\x00"), "/", "."), "\x00", "//")
}

// subjectTopic returns the topic of a subject.
func subjectTopic(subject string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(subject, "//", "\x00"), ".", "/"), "\x00", ".")
}

// filterSubjects returns the subjects of a filter: a/# has a too.
func filterSubjects(filter string) ([]string, error) {
	levels := strings.Split(filter, "/")
	for i, level := range levels {
		switch {
		case level == "+":
			levels[i] = "*"
		case level == "#" && i == len(levels)-1:
			levels[i] = ">"
		case strings.ContainsAny(level, "+#") || level == "*" || level == ">":
			return nil, fmt.Errorf("%w: filter %.80q", errSubject, filter)
		default:
			levels[i] = topicSubject(level)
		}
	}
	subjects := []string{strings.Join(levels, ".")}
	if n := len(levels) - 1; n > 1 && levels[n] == ">" {
		subjects = append(subjects, strings.Join(levels[:n], "."))
	}
	for _, subject := range subjects {
		if err := checkSubject(subject, true); err != nil {
			return nil, err
		}
	}
	return subjects, nil
}

// subscribed answers SUBSCRIBE. All is granted with QoS 0, or refused.
func (m *mqttClient) subscribed(p *packets.SubscribePacket) error {
	const refused = 0x80
	answer, _ := packets.NewControlPacket(packets.Suback).(*packets.SubackPacket)
	answer.MessageID = p.MessageID
	has, subjects := m.subscriptions(), map[string][]string{}
	for _, filter := range p.Topics {
		code := byte(0)
		list, err := filterSubjects(filter)
		switch {
		case err != nil:
			code = refused
			m.bus.gate.refuse(m.s, refusal{bySubject, err})
		case !has[filter]:
			subjects[filter] = list
		}
		answer.ReturnCodes = append(answer.ReturnCodes, code)
	}
	err := m.subscribe(subjects, func() error { return m.write(answer.Write, true) })
	if errors.Is(err, errSubscriptions) {
		for i := range answer.ReturnCodes {
			answer.ReturnCodes[i] = refused
		}
		return m.write(answer.Write, true)
	}
	return err
}

// unsubscribed answers UNSUBSCRIBE.
func (m *mqttClient) unsubscribed(p *packets.UnsubscribePacket) (packets.ControlPacket, error) {
	for _, filter := range p.Topics {
		if err := m.unsubscribe(filter); err != nil {
			return nil, err
		}
	}
	answer, _ := packets.NewControlPacket(packets.Unsuback).(*packets.UnsubackPacket)
	answer.MessageID = p.MessageID
	return answer, nil
}

// deliver sends a message of a subscription.
func (m *mqttClient) deliver(r received) error {
	p, _ := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
	p.TopicName, p.Payload = subjectTopic(r.Subject), m.texts.Encode(r.Message)
	return m.write(p.Write, m.upstream.from.Buffered() == 0)
}

// readPacket reads a packet. It makes room only after it has checked the length: a PUBLISH has at most limit bytes.
func readPacket(r *bufio.Reader, limit int) (packets.ControlPacket, error) {
	for n, length := 2, 0; ; n++ {
		head, err := r.Peek(n)
		if err != nil {
			return nil, err
		}
		if head[0]>>4 != packets.Publish {
			limit = min(limit, packetMost)
		}
		digit := head[n-1]
		length |= int(digit&0x7f) << (7 * (n - 2))
		if length > limit || n == 5 && digit > 0x7f {
			return nil, fmt.Errorf("a packet of %d bytes; send at most %d", length, limit)
		}
		if digit <= 0x7f {
			return packets.ReadPacket(r)
		}
	}
}

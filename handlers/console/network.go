package console

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
)

// Network tells of the interfaces, sockets and ports of the machine. Each function may be nil.
type Network struct {
	// Interfaces are the network interfaces, Sockets the ZeroMQ sockets that are bound.
	Interfaces func() []NetInterface
	Sockets    func() []SocketState
	// PortUse says whether a ZeroMQ channel can use a port: PortFree, PortShared, PortTaken or PortUnknown.
	PortUse func(host string, port int) string
}

// NetInterface is a network interface of the machine with its addresses.
type NetInterface struct {
	Name      string
	Addresses []string
}

// SocketState is a bound ZeroMQ socket and its subscribers.
type SocketState struct {
	Host        string
	Port        int
	Subscribers int
	// Published are the messages so far, Drops the messages that slow subscribers have missed, and Evictions the subscribers that were
	// disconnected.
	Published, Drops, Evictions uint64
}

// The uses of a port, as Network.PortUse says them.
const (
	PortFree    = "free"
	PortShared  = "shared" // a ZeroMQ channel of Ledge is bound to it
	PortTaken   = "taken"  // another program or service listens there
	PortUnknown = ""       // not known
)

// bindHosts are the values for the host of a ZeroMQ channel.
func (n Network) bindHosts() []web.Option {
	list := web.Labelled("*", "all interfaces")
	if n.Interfaces == nil {
		return list
	}
	for _, one := range n.Interfaces() {
		list = append(list, web.Option{Value: one.Name, Label: one.Name + ": " + strings.Join(one.Addresses, ", ")})
		for _, at := range one.Addresses {
			list = append(list, web.Option{Value: at, Label: at + " (" + one.Name + ")"})
		}
	}
	return list
}

// portHint says whether a port can be used; it is empty if that is not known.
func (n Network) portHint(host, text string) string {
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 || n.PortUse == nil {
		return ""
	}
	switch n.PortUse(host, port) {
	case PortFree:
		return fmt.Sprintf("Port %d is free.", port)
	case PortShared:
		return fmt.Sprintf("Port %d has a ZeroMQ socket of Ledge already. Channels share it: subscribers choose by topic.", port)
	case PortTaken:
		return fmt.Sprintf("Port %d is taken by another program; choose another.", port)
	}
	return ""
}

// connectTo is the address that subscribers of a ZeroMQ channel connect to.
func (n Network) connectTo(c *gin.Context, ch domain.Channel) string {
	host := ch.Host
	if host == "*" || host == "0.0.0.0" || host == "::" {
		host = hostOf(c)
	}
	if n.Interfaces != nil {
		for _, one := range n.Interfaces() {
			if one.Name == host && len(one.Addresses) > 0 {
				host = one.Addresses[0]
			}
		}
	}
	return "tcp://" + net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(ch.Port))
}

// snippet is a program that subscribes.
type snippet struct{ Title, Needs, Code string }

// snippets are programs that subscribe to a topic. All texts are quoted in the language of the program.
func snippets(address, topic string) []snippet {
	return []snippet{
		{"Python", "pip install pyzmq, or apt install python3-zmq", fmt.Sprintf(pythonSnippet, topic, address)},
		{"Go", "go get github.com/pebbe/zmq4, which uses libzmq", fmt.Sprintf(goSnippet, address, topic)},
		{"Shell", "python3-zmq, as above", fmt.Sprintf(shellSnippet, shellQuote(address), shellQuote(topic))},
	}
}

func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

const pythonSnippet = `import zmq

socket = zmq.Context.instance().socket(zmq.SUB)
socket.setsockopt(zmq.SUBSCRIBE, %q.encode())
socket.connect(%q)
while True:
    topic, body = socket.recv_multipart()
    print(topic.decode(), body.decode(), flush=True)
`

const goSnippet = `package main

import (
	"fmt"
	"log"

	zmq "github.com/pebbe/zmq4"
)

func main() {
	socket, err := zmq.NewSocket(zmq.SUB)
	if err != nil {
		log.Fatal(err)
	}
	if err := socket.Connect(%q); err != nil {
		log.Fatal(err)
	}
	if err := socket.SetSubscribe(%q); err != nil {
		log.Fatal(err)
	}
	for {
		message, err := socket.RecvMessage(0)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(message)
	}
}
`

const shellSnippet = `python3 -uc '
import sys, zmq
s = zmq.Context.instance().socket(zmq.SUB)
s.setsockopt(zmq.SUBSCRIBE, sys.argv[2].encode())
s.connect(sys.argv[1])
while True: print(*[f.decode() for f in s.recv_multipart()])
' %s %s
`

func (n Network) socketsOf(ch domain.Channel) (list []SocketState) {
	if n.Sockets == nil {
		return nil
	}
	for _, one := range n.Sockets() {
		if one.Port == ch.Port {
			list = append(list, one)
		}
	}
	if len(list) > 1 {
		list = slices.DeleteFunc(list, func(one SocketState) bool { return one.Host != ch.Host })
	}
	return list
}

// newChannel is a channel with the usual values, and with a free port if Ledge binds it.
func (n Network) newChannel(kind domain.ChannelKind) channelForm {
	f := channelForm{ChannelKind: kind, Texts: map[string]string{}, Kept: map[string]map[string]string{}}
	for _, one := range kind.Fields {
		f.Texts[one.Name] = one.Default
	}
	if first, _ := strconv.Atoi(f.Texts["port"]); kind.Binds && n.PortUse != nil {
		for port := first; port < first+20; port++ {
			if n.PortUse(f.Texts["host"], port) == PortFree {
				f.Texts["port"] = strconv.Itoa(port)
				break
			}
		}
	}
	return f
}

// hostOf is the name by which the browser reached the console.
func hostOf(c *gin.Context) string {
	host := c.Request.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.Trim(host, "[]")
}

package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The message buses that EdgeX has beside NATS: the values of the setting edgex-bus.
const (
	BusRedis = "redis"
	BusMQTT  = "mqtt"
)

// busPorts are the message buses, with their ports by default.
var busPorts = []struct {
	name string
	port int
}{{BusRedis, 6379}, {BusMQTT, 1883}}

// edgexBus is the setting edgex-bus: the ports of message buses, by their names. A bus without a port is off. It is a pflag.Value.
type edgexBus map[string]int

// String implements pflag.Value.
func (b *edgexBus) String() string {
	var list []string
	for _, one := range busPorts {
		switch port, on := (*b)[one.name]; {
		case on && port == one.port:
			list = append(list, one.name)
		case on:
			list = append(list, one.name+":"+strconv.Itoa(port))
		}
	}
	return strings.Join(list, ",")
}

// Set implements pflag.Value.
func (b *edgexBus) Set(text string) error {
	ports := edgexBus{}
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		name, port, err := parseBus(one)
		if err != nil {
			return err
		}
		if _, twice := ports[name]; twice {
			return fmt.Errorf("%s is there twice; leave one out", name)
		}
		ports[name] = port
	}
	*b = ports
	return nil
}

// Type implements pflag.Value.
func (b *edgexBus) Type() string { return "list" }

// parseBus reads a message bus, such as redis or redis:6380.
func parseBus(text string) (name string, port int, err error) {
	name, own, hasPort := strings.Cut(text, ":")
	for _, one := range busPorts {
		if one.name != name {
			continue
		}
		if !hasPort {
			return name, one.port, nil
		}
		n, err := strconv.ParseUint(own, 10, 16)
		if err != nil {
			return name, 0, errors.New("use a TCP port from 0 to 65535 after " + name + ":")
		}
		return name, int(n), nil
	}
	return name, 0, fmt.Errorf("%q is unknown; use redis, mqtt or both, such as redis:6380,mqtt", name)
}

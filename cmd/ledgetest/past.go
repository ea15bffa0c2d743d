package ledgetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// past is what a client knows of one entity: the states that it asked for, oldest first, and which of them was
// acknowledged last. What was asked for after that may have happened or not.
type past struct {
	asked []int // 0 is: not there
	acked int
}

func newPast() *past { return &past{asked: []int{0}} }

func (p *past) now() int { return p.asked[len(p.asked)-1] }

func (p *past) ask(state int) { p.asked = append(p.asked, state) }

func (p *past) ack() { p.acked = len(p.asked) - 1 }

// may reports whether an entity can be in a state after all that is before a place in asked happened.
func (p *past) may(state, from int) bool { return slices.Contains(p.asked[from:], state) }

// settle is called when it is known how the entity is.
func (p *past) settle(state int) { *p = past{asked: []int{state}} }

// kind is a kind of entity as clients see it. A state is written into several fields, so that half of it would show.
type kind struct {
	name    string // in paths and bodies
	service func(*Node) string
	add     func(name string, state int) string
	patch   func(name string, state int) string
	fields  func(entity) []string // those that hold the state
}

func (k kind) url(p *Node) string { return k.service(p) + "/api/v2/" + k.name }

// entity is a device or a subscription as it is answered.
type entity struct {
	Description string
	Labels      []string
	Receiver    string
	Protocols   map[string]map[string]string
}

var devices = kind{
	name:    "device",
	service: func(p *Node) string { return p.Metadata },
	add: func(name string, state int) string {
		return fmt.Sprintf(`{"apiVersion":"v2","device":{"name":%q,"adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-rest","profileName":"sample-image","protocolName":"rest",%s}}`, name, deviceState(state))
	},
	patch: func(name string, state int) string {
		return fmt.Sprintf(`{"apiVersion":"v2","device":{"name":%q,%s}}`, name, deviceState(state))
	},
	fields: func(e entity) []string {
		return []string{e.Description, strings.Join(e.Labels, " "), e.Protocols["other"]["state"]}
	},
}

func deviceState(state int) string {
	return fmt.Sprintf(`"description":"%[1]d","labels":["%[1]d"],"protocols":{"other":{"state":"%[1]d"}}`, state)
}

// subscriptions all want every device change, on one socket.
func subscriptions(port int) kind {
	return kind{
		name:    "subscription",
		service: func(p *Node) string { return p.Notifications },
		add: func(name string, state int) string {
			return fmt.Sprintf(`{"apiVersion":"v2","subscription":{"name":%q,"adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":%q}],%s}}`, name, port, name, subscriptionState(state))
		},
		patch: func(name string, state int) string {
			return fmt.Sprintf(`{"apiVersion":"v2","subscription":{"name":%q,%s}}`, name, subscriptionState(state))
		},
		fields: func(e entity) []string { return []string{e.Description, e.Receiver} },
	}
}

func subscriptionState(state int) string {
	return fmt.Sprintf(`"description":"%[1]d","receiver":"%[1]d"`, state)
}

// state reads the state out of an answer to GET by name: 0 for 404, an error for anything that is not whole.
func (k kind) state(a Answer) (int, error) {
	if a.Status == 404 {
		return 0, nil
	}
	var found map[string]json.RawMessage
	var e entity
	if err := json.Unmarshal([]byte(a.Body), &found); err != nil || a.Status != 200 {
		return 0, fmt.Errorf("answer %d %s", a.Status, a.Body)
	}
	if err := json.Unmarshal(found[k.name], &e); err != nil {
		return 0, fmt.Errorf("%s: %w", a.Body, err)
	}
	fields := k.fields(e)
	if len(slices.Compact(slices.Clone(fields))) != 1 {
		return 0, fmt.Errorf("half of a change: %s", a.Body)
	}
	return strconv.Atoi(fields[0])
}

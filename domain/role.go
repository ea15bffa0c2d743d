package domain

import (
	"slices"
	"strings"
)

// Role says what an identity may do; see [Role.May].
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // reads
	Poster   Role = "poster"   // posts values to its devices
	Service  Role = "service"  // is a service of EdgeX: reads, posts, serves, and uses EdgeX's message bus
	Operator Role = "operator" // reads, posts and changes
	Auditor  Role = "auditor"  // reads, also the log and its history
	Admin    Role = "admin"    // does everything, also users and tokens
)

// Right is one thing that a role allows.
type Right string

// The rights.
const (
	MayRead Right = "read" // entities, notifications and readings
	MayPost Right = "post" // values
	// MayServe has the changes that the SDKs of EdgeX 2.3 and 4.0 make for device services and application services: of devices, profiles,
	// device services and provision watchers, commands, and new notifications and subscriptions.
	MayServe      Right = "serve"
	MayChange     Right = "change"     // everything else, such as removing data, subscriptions and secrets
	MayUseBus     Right = "bus"        // publish and subscribe on EdgeX's message bus, and nothing else on NATS
	MayAudit      Right = "audit"      // read the log and its history, and verify
	MayAdminister Right = "administer" // change users and tokens
)

// rights is the one table from role to rights.
var rights = map[Role][]Right{
	Viewer:   {MayRead},
	Poster:   {MayPost},
	Service:  {MayRead, MayPost, MayServe, MayUseBus},
	Operator: {MayRead, MayPost, MayServe, MayChange},
	Auditor:  {MayRead, MayAudit},
	Admin:    {MayRead, MayPost, MayServe, MayChange, MayAudit, MayAdminister},
}

// About describes the rights of the role in words.
func (r Role) About() string {
	switch r {
	case Viewer:
		return "reads; no ledger, no users and tokens"
	case Poster:
		return "posts values only"
	case Service:
		return "is a service of EdgeX: reads, posts, changes devices, and uses the message bus"
	case Operator:
		return "reads, posts and changes; no ledger, no users and tokens"
	case Auditor:
		return "reads, also the ledger; changes nothing"
	default:
		return "does everything, also with users, tokens and retention"
	}
}

// Roles are all roles, the weakest first.
func Roles() []Role { return []Role{Viewer, Poster, Service, Operator, Auditor, Admin} }

// May reports whether the role has a right. An unknown role has none.
func (r Role) May(right Right) bool { return slices.Contains(rights[r], right) }

// RolesThatMay names the roles that have a right, for messages.
func RolesThatMay(right Right) string {
	var names []string
	for _, r := range Roles() {
		if r.May(right) {
			names = append(names, string(r))
		}
	}
	return strings.Join(names, " or ")
}

// HiddenAnswer stands for what a receiver or a device service answered, where a role may not change anything: it can be a service that
// a reader may not reach.
var HiddenAnswer = "hidden; it needs the role " + RolesThatMay(MayChange)

package bus

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// errQuit ends a connection after its last reply.
var errQuit = errors.New("the client has quit")

// The first letter in the name of a subscription: by a channel, or by a pattern.
const byChannel, byPattern = 'c', 'p'

// answer returns the reply to a command. After the error the connection ends.
func (r *redisClient) answer(args [][]byte) (string, error) {
	name := strings.ToUpper(string(args[0]))
	switch name {
	case "AUTH":
		return r.authenticate(args[1:])
	case "QUIT":
		return "+OK\r\n", errQuit
	case "HELLO": // clients of Redis 6 and later go on with RESP2
		return "-ERR unknown command 'HELLO'\r\n", nil
	}
	if !r.in {
		return "-NOAUTH Authentication required.\r\n", nil
	}
	switch name {
	case "PING":
		return r.pong(args[1:]), nil
	case "CLIENT":
		return "+OK\r\n", nil
	case "SELECT":
		if len(args) != 2 || string(args[1]) != "0" {
			return "-ERR DB index is out of range; select 0\r\n", nil
		}
		return "+OK\r\n", nil
	case "PUBLISH":
		return r.published(args[1:]), nil
	case "PSUBSCRIBE", "SUBSCRIBE":
		return r.subscribed(name, args[1:])
	case "PUNSUBSCRIBE", "UNSUBSCRIBE":
		return r.unsubscribed(name, args[1:])
	}
	const says = "-ERR unknown command %.40q; Ledge has AUTH, PING, PUBLISH, SUBSCRIBE, PSUBSCRIBE, UNSUBSCRIBE, PUNSUBSCRIBE and QUIT\r\n"
	return fmt.Sprintf(says, name), nil
}

// pong answers a PING. The answer to a subscriber is an array.
func (r *redisClient) pong(args [][]byte) string {
	said := append(slices.Clone(args), nil)[0]
	switch {
	case len(r.subscriptions()) > 0:
		return "*2\r\n$4\r\npong\r\n" + bulkOf(said)
	case len(args) == 1:
		return bulkOf(said)
	}
	return "+PONG\r\n"
}

// published publishes a message, and returns the reply when the stream has it. The reply of Redis is the number of receivers, which is not
// known here: it is 0.
func (r *redisClient) published(args [][]byte) string {
	if len(args) != 2 {
		return "-ERR wrong number of arguments for 'publish' command\r\n"
	}
	channel := string(args[0])
	if err := checkSubject(channel, false); err != nil {
		return fmt.Sprintf("-ERR channel %.80q is refused: %v\r\n", channel, err)
	}
	if err := r.publishAcknowledged(r.texts.Decode(channel, args[1])); err != nil {
		return "-ERR not published: " + oneLine(err) + "\r\n"
	}
	return ":0\r\n"
}

// subscribed answers PSUBSCRIBE and SUBSCRIBE, with one reply for each argument.
func (r *redisClient) subscribed(command string, args [][]byte) (string, error) {
	kind := strings.ToLower(command)
	if len(args) == 0 {
		return fmt.Sprintf("-ERR wrong number of arguments for '%s' command\r\n", kind), nil
	}
	for _, arg := range args {
		name, subject := string(byChannel)+string(arg), string(arg)
		if kind == "psubscribe" {
			name, subject = string(byPattern)+string(arg), patternSubject(string(arg))
		}
		if err := checkSubject(subject, name[0] == byPattern); err != nil {
			const says = "-ERR %s %.80q is refused: %v; in a pattern * is a whole level, and at the end all further levels\r\n"
			return fmt.Sprintf(says, kind, arg, err), nil
		}
		confirm := func() error {
			return r.reply(fmt.Sprintf("*3\r\n%s%s:%d\r\n", bulkOf(kind), bulkOf(arg), len(r.subscriptions())), true)
		}
		var err error
		if r.subscriptions()[name] {
			err = confirm()
		} else {
			err = r.subscribe(map[string][]string{name: {subject}}, confirm)
		}
		if err != nil {
			return "-ERR " + oneLine(err) + "\r\n", err
		}
	}
	return "", nil
}

// unsubscribed answers PUNSUBSCRIBE and UNSUBSCRIBE; without arguments all subscriptions of the kind end.
func (r *redisClient) unsubscribed(command string, args [][]byte) (string, error) {
	kind := byte(byChannel)
	if command == "PUNSUBSCRIBE" {
		kind = byPattern
	}
	if len(args) == 0 {
		for _, name := range slices.Sorted(maps.Keys(r.subscriptions())) {
			if name[0] == kind {
				args = append(args, []byte(name[1:]))
			}
		}
	}
	var replies strings.Builder
	for _, arg := range args {
		if err := r.unsubscribe(string(kind) + string(arg)); err != nil {
			return "", err
		}
		fmt.Fprintf(&replies, "*3\r\n%s%s:%d\r\n", bulkOf(strings.ToLower(command)), bulkOf(arg), len(r.subscriptions()))
	}
	if len(args) == 0 {
		fmt.Fprintf(&replies, "*3\r\n%s$-1\r\n:%d\r\n", bulkOf(strings.ToLower(command)), len(r.subscriptions()))
	}
	return replies.String(), nil
}

// patternSubject returns the subject of a pattern as EdgeX's clients make it of a topic: they write * for + and for #. It is empty for
// another pattern of Redis.
func patternSubject(pattern string) string {
	for level := range strings.SplitSeq(pattern, ".") {
		if level != "*" && strings.ContainsAny(level, `*?[\`) {
			return ""
		}
	}
	if rest, ok := strings.CutSuffix(pattern, ".*"); ok {
		return rest + ".>"
	}
	return pattern
}

// authenticate is the command AUTH, with a password or with a user and a password. The password may be a token.
func (r *redisClient) authenticate(args [][]byte) (string, error) {
	if r.in && r.bus.o.Login == nil {
		return "+OK\r\n", nil
	}
	if len(args) < 1 || len(args) > 2 {
		return "-ERR wrong number of arguments for 'auth' command\r\n", nil
	}
	if r.in {
		return "-ERR this connection has logged in; open another\r\n", nil
	}
	user := ""
	if len(args) == 2 {
		user = string(args[0])
	}
	if err := r.enter(user, string(args[len(args)-1])); err != nil {
		return "-WRONGPASS " + oneLine(err) + "\r\n", errQuit
	}
	return "+OK\r\n", nil
}

// oneLine returns an error as the text of a reply.
func oneLine(err error) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(err.Error())
}

package bus

import (
	"errors"
	"fmt"
	"strings"
)

// publishWait is how long a message may wait for the acknowledgement of the stream.
const publishWait = ackWait

// errQuit ends a connection after its last reply.
var errQuit = errors.New("the client has quit")

// answer returns the reply to a command, without its line end. After the error the connection ends. in tells whether the client has
// logged in.
func (r *redisServer) answer(s *session, in *bool, args [][]byte) (string, error) {
	name := strings.ToUpper(string(args[0]))
	switch name {
	case "AUTH":
		return r.authenticate(s, in, args[1:])
	case "QUIT":
		return "+OK", errQuit
	case "HELLO": // clients of Redis 6 and later go on with RESP2
		return "-ERR unknown command 'HELLO'", nil
	}
	if !*in {
		return "-NOAUTH Authentication required.", nil
	}
	switch name {
	case "PING":
		if len(args) == 2 {
			return fmt.Sprintf("$%d\r\n%s", len(args[1]), args[1]), nil
		}
		return "+PONG", nil
	case "CLIENT":
		return "+OK", nil
	case "SELECT":
		if len(args) != 2 || string(args[1]) != "0" {
			return "-ERR DB index is out of range; select 0", nil
		}
		return "+OK", nil
	case "PUBLISH":
		if len(args) != 3 {
			return "-ERR wrong number of arguments for 'publish' command", nil
		}
		return r.publish(s, string(args[1]), args[2]), nil
	}
	return fmt.Sprintf("-ERR unknown command %.40q; Ledge has AUTH, PING, PUBLISH, SELECT and QUIT", name), nil
}

// publish publishes a message, and returns the reply when the stream has it. The reply of Redis is the number of receivers, which is not
// known here: it is 0.
func (r *redisServer) publish(s *session, channel string, text []byte) string {
	if err := checkChannel(channel); err != nil {
		return "-ERR " + err.Error()
	}
	ctx, cancel := s.limited(publishWait)
	defer cancel()
	if err := r.bus.edgex.publishAcknowledged(ctx, r.decode(channel, text)); err != nil {
		return "-ERR not published: " + oneLine(err)
	}
	return ":0"
}

// channelMost is the most bytes of a channel: the command line of NATS has 4 KiB.
const channelMost = 1 << 10

// checkChannel refuses a channel that is not a subject of the bus.
func checkChannel(channel string) error {
	const cure = "publish below edgex., with levels of printable characters between dots, and neither * nor > as a level"
	ok := strings.HasPrefix(channel, "edgex.") && len(channel) <= channelMost
	for level := range strings.SplitSeq(channel, ".") {
		ok = ok && level != "" && level != "*" && level != ">"
	}
	if !ok || strings.ContainsFunc(channel, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("channel %.80q is refused; %s", channel, cure)
	}
	return nil
}

// authenticate is the command AUTH, with a password or with a user and a password. The password may be a token.
func (r *redisServer) authenticate(s *session, in *bool, args [][]byte) (string, error) {
	if r.bus.o.Login == nil {
		return "+OK", nil
	}
	if len(args) < 1 || len(args) > 2 {
		return "-ERR wrong number of arguments for 'auth' command", nil
	}
	user := ""
	if len(args) == 2 {
		user = string(args[0])
	}
	if err := r.login(s, user, string(args[len(args)-1])); err != nil {
		return "-WRONGPASS " + oneLine(err), errQuit
	}
	*in = true
	return "+OK", nil
}

// oneLine returns an error as the text of a reply.
func oneLine(err error) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(err.Error())
}

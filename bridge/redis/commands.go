package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ledge/bridge/edgex"
	"ledge/domain"
)

// publishWait is how long a message may wait for the acknowledgement of the stream.
const publishWait = loginWait

// errQuit ends a connection after its last reply.
var errQuit = errors.New("the client has quit")

// answer returns the reply to a command, without its line end. After the error the connection ends.
func (s *Server) answer(c *client, args [][]byte) (string, error) {
	name := strings.ToUpper(string(args[0]))
	switch name {
	case "AUTH":
		return s.login(c, args[1:])
	case "QUIT":
		return "+OK", errQuit
	case "HELLO": // clients of Redis 6 and later go on with RESP2
		return "-ERR unknown command 'HELLO'", nil
	}
	if !c.isIn() {
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
		return s.publish(c, string(args[1]), args[2]), nil
	}
	return fmt.Sprintf("-ERR unknown command %.40q; Ledge has AUTH, PING, PUBLISH, SELECT and QUIT", name), nil
}

// publish publishes a message, and returns the reply when the stream has it. The reply of Redis is the number of receivers, which is not
// known here: it is 0.
func (s *Server) publish(c *client, channel string, text []byte) string {
	if err := checkChannel(channel); err != nil {
		return "-ERR " + err.Error()
	}
	ctx, cancel := context.WithTimeout(c.alive, publishWait)
	defer cancel()
	if err := s.o.Publish(ctx, edgex.FromRedis(channel, text)); err != nil {
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

// login lets a client in. The password may be a token.
func (s *Server) login(c *client, args [][]byte) (string, error) {
	if s.o.Login == nil {
		return "+OK", nil
	}
	if len(args) < 1 || len(args) > 2 {
		return "-ERR wrong number of arguments for 'auth' command", nil
	}
	user, password := "", string(args[len(args)-1])
	if len(args) == 2 {
		user = string(args[0])
	}
	err := s.identify(c, user, password)
	if err != nil {
		s.logRefusal(c, err)
		return "-WRONGPASS " + oneLine(err), errQuit
	}
	return "+OK", nil
}

func (s *Server) identify(c *client, user, password string) error {
	ctx, cancel := context.WithTimeout(c.alive, loginWait)
	defer cancel()
	token := ""
	if user == "" || strings.HasPrefix(password, "ledge_") {
		user, password, token = "", "", password
	}
	identity, err := s.o.Login(ctx, user, password, token, c.client)
	if err != nil {
		return err
	}
	if !identity.Role.May(domain.MayUseBus) {
		return fmt.Errorf("role %s may not use the bus; use a token of the role %s", identity.Role, domain.RolesThatMay(domain.MayUseBus))
	}
	return s.admit(c, identity, token)
}

// oneLine returns an error as the text of a reply.
func oneLine(err error) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(err.Error())
}

// refusalLogged is the time between two lines about refused clients.
const refusalLogged = time.Minute

func (s *Server) logRefusal(c *client, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.logged.IsZero() || now.Sub(s.logged) >= refusalLogged {
		s.logged = now
		s.o.Logger.Warn("Redis client refused; more refusals are not logged for a minute", "client", c.client, "reason", why)
	}
}

package outward

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ledge/bridge/guard"
)

func TestPermanent(t *testing.T) {
	cause := errors.New("cause")
	refused := guard.New(guard.Options{Deny: guard.MustRules("*")}).Destination("a", 1)
	for _, c := range []struct {
		err   error
		want  bool
		after time.Duration
	}{
		{nil, false, 0},
		{cause, false, 0},
		{refused, true, 0},
		{fmt.Errorf("dial: %w", refused), true, 0},
		{&Error{Err: cause, Final: true}, true, 0},
		{fmt.Errorf("send: %w", &Error{Err: cause, After: time.Second}), false, time.Second},
	} {
		after := time.Duration(0)
		if r, ok := errors.AsType[interface {
			error
			RetryAfter() time.Duration
		}](c.err); ok {
			after = r.RetryAfter()
		}
		if Permanent(c.err) != c.want || after != c.after {
			t.Errorf("%v: got %v, %v; want %v, %v", c.err, Permanent(c.err), after, c.want, c.after)
		}
	}
	if !errors.Is(&Error{Err: cause}, cause) {
		t.Error("the cause is lost")
	}
}

func TestCut(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", ResponseBytes), strings.Repeat("x", ResponseBytes+1), "x" + strings.Repeat("ü", ResponseBytes), "xx" + strings.Repeat("😀", ResponseBytes), "a\xffb"} {
		got := Cut(s)
		if !utf8.ValidString(got) || len(got) > ResponseBytes || len(got) < min(len(s), ResponseBytes-3) || !strings.HasPrefix(strings.ToValidUTF8(s, "\uFFFD"), got) {
			t.Errorf("%.9q: got %d bytes", s, len(got))
		}
	}
}

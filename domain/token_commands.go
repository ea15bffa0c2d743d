package domain

import "strings"

// MaxTokens is how many tokens there may be, and MaxPatterns how many patterns of devices each may have.
const (
	MaxTokens   = 100_000
	MaxPatterns = 100
)

// Check notes what is wrong with a token.
func (t Token) Check() Problems {
	var p Problems
	p.checkName("name", t.Name)
	p.checkRole("role", t.Role)
	p.checkPatterns(t)
	switch {
	case t.Certificate && t.Credential != "":
		p.Add("credential", "%s is given, but the token is a client certificate; leave it out", quote(t.Credential))
	case !t.Certificate:
		p.checkName("credential", t.Credential)
	}
	if t.Expires < 0 || t.Expires > 0 && t.Expires <= t.Created {
		p.Add("expires", "%d is not after the time of creation, %d; give a later time or none", t.Expires, t.Created)
	}
	return p
}

// checkPatterns notes what is wrong with the devices of a token.
func (p *Problems) checkPatterns(t Token) {
	if len(t.Devices) > 0 && t.Role != Poster {
		p.Add("devices", "has patterns, but only the role %s is restricted to devices, not %s; leave them out or choose that role", Poster, quote(string(t.Role)))
	}
	if len(t.Devices) > MaxPatterns {
		p.Add("devices", "has %d patterns; give at most %d", len(t.Devices), MaxPatterns)
		return
	}
	checkIndexed(p, "devices", t.Devices, func(p *Problems, path, pattern string) {
		if pattern == "" {
			p.Add(path, "is empty; give the name of a device, in which * stands for any characters")
			return
		}
		p.checkLength(path, pattern)
		if i := strings.IndexFunc(pattern, func(r rune) bool { return r != '*' && isForeign(r) }); i >= 0 {
			p.Add(path, "%s has the character %q; use only letters, digits, - _ ~ : ; = and *", quote(pattern), []rune(pattern[i:])[0])
		}
	})
}

// AddToken adds a token. Token carries its times, and the id of a hash that is in the secret store already.
type AddToken struct{ Token Token }

// Decide refuses a token that is wrong in itself, a name that is taken, and more than [MaxTokens].
func (c AddToken) Decide(s State) (Event, error) {
	if err := c.Token.Check().Err(); err != nil {
		return nil, err
	}
	if _, ok := s.Tokens.Get(c.Token.Name); ok {
		return nil, Errorf(Conflict, "token name %q exists already; revoke that token first or choose another name", c.Token.Name)
	}
	if n, _ := s.Uses.Get(countOfTokens); n >= MaxTokens {
		return nil, Errorf(TooLarge, "there are %d tokens, which is the limit; revoke one first", n)
	}
	return TokenAdded{c.Token, lastRemoval(s, "token", c.Token.Name)}, nil
}

// RotateToken gives a token another secret. The one of now stays valid until OldUntil; 0 ends it at once.
type RotateToken struct {
	Name       string
	Credential string
	OldUntil   int64
	At         int64
}

// Decide implements [Command].
func (c RotateToken) Decide(s State) (Event, error) {
	if err := CheckName("credential", c.Credential).Err(); err != nil {
		return nil, err
	}
	t, ok := s.Tokens.Get(c.Name)
	switch {
	case !ok:
		return nil, Errorf(NotFound, "token %q does not exist; correct the name", c.Name)
	case t.Certificate:
		return nil, Errorf(Conflict, "token %q is a client certificate, which has no secret; replace the certificate", c.Name)
	case t.Expires != 0 && t.Expires <= c.At:
		return nil, Errorf(Conflict, "token %q has expired, and a new secret would not be valid either; revoke it and create a new one", c.Name)
	case c.OldUntil != 0 && c.OldUntil <= c.At:
		return nil, FieldErrorf("oldUntil", "%d is not after the time of the change, %d; give a later time or none", c.OldUntil, c.At)
	}
	return TokenRotated{c.Name, c.Credential, c.OldUntil, Revision(s.Tokens, c.Name)}, nil
}

// RemoveToken revokes the token called Name.
type RemoveToken struct{ Name string }

// Decide refuses an unknown token.
func (c RemoveToken) Decide(s State) (Event, error) {
	t, ok := s.Tokens.Get(c.Name)
	if !ok {
		return nil, Errorf(NotFound, "token %q does not exist; correct the name", c.Name)
	}
	return TokenRemoved{t, Revision(s.Tokens, c.Name)}, nil
}

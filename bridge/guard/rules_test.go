package guard

import "testing"

func TestRulesText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " , ": "", " 10.0.0.0/8 ,a.b": "10.0.0.0/8,a.b", "*:8000-8999": "*:8000-8999",
		"[2001:db8::/32]:443,fe80::/10,::1": "[2001:db8::/32]:443,fe80::/10,::1",
	} {
		var r Rules
		if err := r.Set(text); err != nil || r.String() != want {
			t.Errorf("%q: got %q, %v; want %q", text, r.String(), err, want)
		}
		again := MustRules(r.String())
		if again.String() != want {
			t.Errorf("%q: set again: got %q", text, again.String())
		}
	}
}

func TestBadRules(t *testing.T) {
	for _, text := range []string{"10.0.0.0/33", "a b", "http://a", "a:0", "a:70000", "a:9-8", "a:x", "a*b", "*.", "user@a", "::ffff:10.0.0.0/104"} {
		var r Rules
		if err := r.Set("ok.example," + text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

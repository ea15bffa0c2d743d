package config

import (
	"testing"
)

func TestDidYouMean(t *testing.T) {
	known := []string{"serve", "log", "verify", "metadata-port"}
	for word, want := range map[string]string{
		"sreve": "; did you mean serve?", "lgo": "; did you mean log?", "metadata-prot": "; did you mean metadata-port?", "verfy": "; did you mean verify?",
		"zzz": "", "": "",
	} {
		if got := didYouMean(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

package web_test

import (
	"os"
	"testing"

	"ledge/handlers/console/web"
	"ledge/handlers/console/web/webtest"
)

func TestTemplatesCallNoMethod(t *testing.T) {
	if others := webtest.CheckFields(t, web.PageData, os.DirFS("templates")); len(others) > 0 {
		t.Errorf("no data of the pages %v", others)
	}
}

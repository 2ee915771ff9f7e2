require('newrelic');

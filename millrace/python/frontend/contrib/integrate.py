"""tf.contrib.integrate: ordinary differential equations, solved in the graph."""

from millrace._flow.differential_equations import odeint, odeint_fixed
